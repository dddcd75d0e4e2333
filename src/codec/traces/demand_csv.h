// Reads a demand over time from CSV: a series as it stands, or a public trace that is counted into one. Recognised by the header:
//
//   time,value           a value per instant; also `timestamp` or `hour`, and any one other column as the value. Empty = missing
//   timestamp_anon,value,container_ip,request_type    requests per second per container (Alibaba GenAI 2026): summed by type
//   TIMESTAMP,ContextTokens,GeneratedTokens           one row per request (Azure LLM 2023): requests, and tokens, per second
//   gmt_create,predict_type                           one row per request (Alibaba GenAI 2026): requests per hour by type
//   role,gpu_request,creation_time,deletion_time      one row per instance (Alibaba DLRM 2025): GPUs and CPU instances in use
//
// Times are seconds or milliseconds since 1970 or ISO 8601 (UTC); a column `hour` may count hours from 0. The publisher's tar
// archives of one file are read as they are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/csv.h"
#include "telemetry/demand_series.h"

namespace stint {

struct DemandCsvCounts {
  static constexpr size_t kReasonsKept = 5;

  uint64_t accepted = 0;
  uint64_t rejected = 0;
  std::vector<std::string> reasons;  ///< of the first kReasonsKept rejected rows, with file and line
};

class DemandCsvReader {
 public:
  /// @param source  file name, for messages.
  explicit DemandCsvReader(std::string source);
  Status feed(std::string_view bytes);
  /// End of the file. @param step  of the series; none: an hour when there are two weeks of them, else the longest of 30, 10, 5
  /// and 1 minutes, 10 s and 1 s that gives as many steps as two weeks have hours, never shorter than the values lie apart.
  /// @return the series, by name; each begins and ends with a whole step. Error when there is nothing to make a series of.
  Result<std::vector<DemandSeries>> finish(std::optional<Duration> step = {});
  [[nodiscard]] const DemandCsvCounts& counts() const { return counts_; }

 private:
  enum class Format : uint8_t { kUnknown, kValues, kRates, kTokens, kRequests, kInstances };
  struct Entry {
    Instant at;
    double value = 0;
    uint32_t series = 0;
    uint32_t part = 0;  ///< what is summed over: the container
    bool missing = false;
    uint64_t line = 0;
  };
  using Names = std::map<std::string, uint32_t, std::less<>>;

  Status record(const CsvRecord& record);
  Status header(const CsvRecord& record);
  void row(const CsvRecord& record);
  void instance(const CsvRecord& record);
  std::optional<Instant> time_at(const CsvRecord& record, int column);
  void reject(const CsvRecord& record, std::string_view why);
  void add(const CsvRecord& record, Instant at, double value, uint32_t series, uint32_t part = 0, bool missing = false);
  uint32_t series_id(std::string_view name);
  [[nodiscard]] Result<Duration> choose_step(Interval span) const;
  [[nodiscard]] Duration spacing() const;
  [[nodiscard]] std::vector<DemandSeries> count_events(Interval span, Duration step) const;
  [[nodiscard]] std::vector<DemandSeries> average_values(Interval span, Duration step) const;
  [[nodiscard]] std::vector<DemandSeries> integrate_changes(Interval span, Duration step) const;

  std::string source_;
  CsvReader csv_;
  Format format_ = Format::kUnknown;
  size_t columns_ = 0;
  int time_ = -1, value_ = -1, type_ = -1, part_ = -1, end_ = -1;
  std::string unit_;
  bool counts_hours_ = false;  // times are numbers of hours
  Names series_ids_;
  std::vector<std::string> series_names_;
  Names part_ids_;
  std::vector<Entry> entries_;
  std::vector<double> initial_;  // by series: in use before the trace begins
  DemandCsvCounts counts_;
};

}  // namespace stint
