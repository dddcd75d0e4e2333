// Reads a trace of jobs from CSV: columns timestamp, duration, num_gpus, cluster (any order, others ignored), and user or
// queue where there is one. The public Philly and Helios traces come in this form.
//
//   timestamp   when the job was submitted: seconds since 1970 or since the trace began, or ISO 8601 (UTC)
//   duration    seconds it ran; decimals allowed
//   num_gpus    0 = a CPU job: not a job for GPUs, skipped and counted
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codec/csv.h"
#include "model/job_trace.h"

namespace stint {

struct JobCsvCounts {
  uint64_t accepted = 0;
  uint64_t cpu_only = 0;  ///< rows with 0 GPUs
  uint64_t rejected = 0;
  std::vector<std::string> reasons;  ///< of the first rejected rows, with their line
};

class JobCsvReader {
 public:
  /// @param source  file name, for messages.
  explicit JobCsvReader(std::string source);
  /// Takes in the next piece of the file. @return error when it is no such CSV at all.
  Status feed(std::string_view bytes);
  /// End of the file: the jobs read.
  Result<JobTrace> finish();
  [[nodiscard]] const JobCsvCounts& counts() const { return counts_; }

 private:
  using Names = std::map<std::string, uint32_t, std::less<>>;
  Status record(const CsvRecord& record);
  Status header(const CsvRecord& record);
  void row(const CsvRecord& record);
  void reject(const CsvRecord& record, std::string_view why);

  std::string source_;
  CsvReader csv_;
  bool have_header_ = false;
  size_t columns_ = 0;
  int timestamp_ = -1;
  int duration_ = -1;
  int gpus_ = -1;
  int cluster_ = -1;
  int user_ = -1;
  Names cluster_ids_;
  Names user_ids_;
  JobTrace trace_;
  JobCsvCounts counts_;
};

/// Nodes per cluster from CSV: columns cluster, nodes. @return error naming the line for anything else.
Result<std::map<std::string, int64_t>> read_cluster_nodes(std::string_view bytes, const std::string& source);

}  // namespace stint
