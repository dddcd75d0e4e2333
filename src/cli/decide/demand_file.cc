#include "cli/decide/demand_file.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "cli/output.h"
#include "codec/traces/demand_csv.h"
#include "collect/archive.h"

namespace stint {

Result<std::vector<DemandSeries>> read_demand(const std::string& path, std::optional<Duration> step) {
  DemandCsvReader reader(path);
  TRY(read_one_file(path, [&](std::string_view piece) { return reader.feed(piece); }));
  TRY_ASSIGN(std::vector<DemandSeries> all, reader.finish(step));
  const DemandCsvCounts& counts = reader.counts();
  if (counts.rejected > 0) tell("stint: {} rejected, the first:\n", counted(counts.rejected, "row"));
  for (const std::string& reason : counts.reasons)
    tell("stint:   {}\n", reason);
  return all;
}

}  // namespace stint
