// Traces of jobs in the formats in which they are found: bytes in, a JobTrace out, what could not be used counted and named.
//
//   csv     timestamp,duration,num_gpus,cluster (codec/traces/job_csv.h), as the public Philly and Helios traces
//   openb   the pod lists of Alibaba's cluster-trace-gpu-v2023: a pod is a job from its scheduling to its deletion
//   dlrm    Alibaba's cluster-trace-gpu-v2025: an instance of a recommendation service is a job; those that were there before the
//           trace begin with it, those that outlive it end with it
//   sacct   Slurm accounting, `sacct -P` with its header
//
// docs/formats.md, "Job traces".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/csv.h"
#include "model/job_trace.h"

namespace stint {

struct TraceCounts {
  static constexpr size_t kReasonsKept = 5;

  uint64_t accepted = 0;
  uint64_t cpu_only = 0;   ///< rows that ask for no GPU
  uint64_t never_ran = 0;  ///< rows of jobs that had not run, or for no time
  uint64_t rejected = 0;
  std::vector<std::string> reasons;  ///< of the first kReasonsKept rejected rows, with file and line
};

class JobTraceReader {
 public:
  virtual ~JobTraceReader() = default;
  /// Takes in the next piece of the file, cut anywhere. @return error when it is not of the format at all.
  virtual Status feed(std::string_view bytes) = 0;
  /// End of the file: the jobs read. Once.
  virtual Result<JobTrace> finish() = 0;
  [[nodiscard]] const TraceCounts& counts() const { return counts_; }

 protected:
  void reject(const std::string& source, uint64_t line, std::string_view why);
  TraceCounts counts_;
};

enum class TraceFormat { kCsv, kOpenb, kDlrm, kSacct };
std::string_view name_of(TraceFormat f);  // "csv", "openb", "dlrm", "sacct"
Result<TraceFormat> parse_trace_format(std::string_view text);
/// By the names in the header line; none = of no format known here.
std::optional<TraceFormat> detect_trace_format(std::string_view first_line);
std::unique_ptr<JobTraceReader> make_trace_reader(TraceFormat format, const std::string& source);

/// What the readers of CSV share: records, their width, and tables of names.
class CsvTraceReader : public JobTraceReader {
 public:
  explicit CsvTraceReader(CsvOptions options) : source_(options.source), csv_(std::move(options)) {}
  Status feed(std::string_view bytes) final;
  Result<JobTrace> finish() final;

 protected:
  /// The first record. @return error when this is another format; the file is put before its message.
  virtual Status header(const CsvRecord& record) = 0;
  /// A later record with as many fields as the header.
  virtual void row(const CsvRecord& record) = 0;
  /// After the last row, before the trace is handed over.
  virtual void end_rows() {}

  void reject(const CsvRecord& record, std::string_view why) { JobTraceReader::reject(source_, record.line, why); }
  uint32_t cluster_of(std::string_view name) { return id_of(cluster_ids_, trace_.clusters, name); }
  uint32_t user_of(std::string_view name) { return id_of(user_ids_, trace_.users, name); }
  uint32_t name_of_job(std::string_view name) { return id_of(name_ids_, trace_.names, name); }
  uint32_t shape_of(const TraceShape& shape);
  void accept(const TraceJob& job);
  JobTrace trace_;

 private:
  using Names = std::map<std::string, uint32_t, std::less<>>;
  static uint32_t id_of(Names& ids, std::vector<std::string>& names, std::string_view name);
  Status record(const CsvRecord& record);

  std::string source_;
  CsvReader csv_;
  size_t columns_ = 0;  // 0 = no header seen
  Names cluster_ids_;
  Names user_ids_;
  Names name_ids_;
};

std::unique_ptr<JobTraceReader> make_openb_trace_reader(const std::string& source);
std::unique_ptr<JobTraceReader> make_dlrm_trace_reader(const std::string& source);
std::unique_ptr<JobTraceReader> make_sacct_trace_reader(const std::string& source);

/// Seconds from 0 on with decimals, to the nanosecond, up to a hundred years; none for anything else.
std::optional<int64_t> parse_seconds_as_ns(std::string_view text);

}  // namespace stint
