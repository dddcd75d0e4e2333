#include "cli/job_trace_file.h"

#include <fmt/format.h>

#include "codec/job_csv.h"
#include "host/file.h"

namespace stint {

Result<JobTrace> read_job_trace(const std::string& path) {
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  JobCsvReader reader(path);
  while (true) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) break;
    TRY(reader.feed(piece));
  }
  TRY_ASSIGN(JobTrace trace, reader.finish());
  const JobCsvCounts& counts = reader.counts();
  if (counts.cpu_only > 0) fmt::print(stderr, "stint: {} rows without GPUs skipped\n", counts.cpu_only);
  if (counts.rejected > 0) fmt::print(stderr, "stint: {} rows rejected, the first:\n", counts.rejected);
  for (const std::string& reason : counts.reasons)
    fmt::print(stderr, "stint:   {}\n", reason);
  if (trace.jobs.empty()) return invalid("{}: no jobs for GPUs in it", path);
  return trace;
}

}  // namespace stint
