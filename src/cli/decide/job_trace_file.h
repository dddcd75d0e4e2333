// A job trace from a file, with what was skipped or rejected.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/job_trace.h"

namespace stint {

struct JobTraceFile {
  JobTrace trace;
  std::vector<std::string> notes;  ///< rows that are not in it: how many, why, and where the first were
};
/// A job trace in one of the formats of codec/traces/job_trace_reader.h, may be gzipped. @param format  its name; empty = by the header.
Result<JobTraceFile> read_job_trace(const std::string& path, const std::string& format = {});
/// Whether it is a workload file (documents/workload_file.h). Standard input is not looked at.
bool is_workload_file(const std::string& path);

}  // namespace stint
