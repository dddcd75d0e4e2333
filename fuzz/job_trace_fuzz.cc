// Any bytes, cut anywhere, go through every reader of job traces: a trace whose every job can be replayed, or an error.
#include <cstdint>

#include "base/check.h"
#include "codec/traces/job_trace_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  // The first byte names the format, the last says how large the pieces are.
  const auto format = static_cast<stint::TraceFormat>(data[0] % 4);
  const size_t piece = data[size - 1] + size_t{1};
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  (void)stint::detect_trace_format(input.substr(0, input.find('\n'))).has_value();
  const auto reader = stint::make_trace_reader(format, "fuzz");
  for (size_t at = 0; at < input.size(); at += piece)
    if (!reader->feed(input.substr(at, piece)).ok()) return 0;
  const auto trace = reader->finish();
  if (!trace.ok()) return 0;
  CHECK(trace->jobs.size() == reader->counts().accepted, "{} jobs, {} accepted", trace->jobs.size(), reader->counts().accepted);
  for (const stint::TraceJob& job : trace->jobs) {
    CHECK(job.gpus >= 1 && job.duration >= stint::Duration(), "a job of {} GPUs", job.gpus);
    CHECK(job.cluster < trace->clusters.size(), "cluster {} of {}", job.cluster, trace->clusters.size());
    CHECK(trace->users.empty() || job.user < trace->users.size(), "user {} of {}", job.user, trace->users.size());
    CHECK(trace->shapes.empty() || job.shape < trace->shapes.size(), "shape {} of {}", job.shape, trace->shapes.size());
  }
  return 0;
}
