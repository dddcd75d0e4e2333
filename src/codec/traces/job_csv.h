// Reads a trace of jobs from CSV: columns timestamp, duration, num_gpus, cluster (any order, others ignored), user or queue
// and name or job_name where there are such. The public Philly and Helios traces come in this form.
//
//   timestamp   when the job was submitted: seconds since 1970 or since the trace began, or ISO 8601 (UTC)
//   duration    seconds it ran; decimals allowed
//   num_gpus    0 = a CPU job: not a job for GPUs, skipped and counted
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "codec/traces/job_trace_reader.h"

namespace stint {

class JobCsvReader final : public CsvTraceReader {
 public:
  /// @param source  file name, for messages.
  explicit JobCsvReader(std::string source) : CsvTraceReader({.source = std::move(source)}) {}

 private:
  Status header(const CsvRecord& record) override;
  void row(const CsvRecord& record) override;

  int timestamp_ = -1;
  int duration_ = -1;
  int gpus_ = -1;
  int cluster_ = -1;
  int user_ = -1;
  int name_ = -1;
};

/// Nodes per cluster from CSV: columns cluster, nodes. @return error naming the line for anything else.
Result<std::map<std::string, int64_t>> read_cluster_nodes(std::string_view bytes, const std::string& source);

}  // namespace stint
