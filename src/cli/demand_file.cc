#include "cli/demand_file.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "codec/demand_csv.h"
#include "host/file.h"

namespace stint {

Result<std::vector<DemandSeries>> read_demand(const std::string& path, std::optional<Duration> step) {
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  DemandCsvReader reader(path);
  while (true) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) break;
    TRY(reader.feed(piece));
  }
  TRY_ASSIGN(std::vector<DemandSeries> all, reader.finish(step));
  const DemandCsvCounts& counts = reader.counts();
  if (counts.rejected > 0) tell("stint: {} rows rejected, the first:\n", counts.rejected);
  for (const std::string& reason : counts.reasons)
    tell("stint:   {}\n", reason);
  return all;
}

}  // namespace stint
