// The plain workload format, stint-workload/1: everything a replay needs in one text file that a person can write.
//
// CSV in sections: a line `[jobs]`, a line with the columns, then a row each. CSV, because a workload is tables: a column is
// named once, a row is one line to add, sort or compare, a spreadsheet makes it, and it is read as a stream. Columns stand in
// any order and may be left out; an empty cell is the default. What refers to something stands below it, by name.
// Nothing is skipped: half a workload would be another workload, so the first wrong line ends the reading. docs/formats.md.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "codec/csv.h"
#include "sim/workload.h"

namespace stint {

class WorkloadRow;

class WorkloadReader {
 public:
  /// @param source  file name, for messages.
  explicit WorkloadReader(std::string source);
  /// Takes in the next piece of the file, cut anywhere. @return error naming file and line.
  Status feed(std::string_view bytes);
  /// End of the file. @return a workload that passed check_workload().
  Result<sim::Workload> finish();

 private:
  using Names = std::map<std::string, uint32_t, std::less<>>;
  /// Jobs one row stands for: indexes of the first and of the one behind the last.
  using Range = std::pair<uint32_t, uint32_t>;
  Status record(const CsvRecord& record);
  Status header(const CsvRecord& record);
  Status queue(WorkloadRow& row);
  Status price(WorkloadRow& row);
  Status study(WorkloadRow& row);
  Status node(WorkloadRow& row);
  Status job(WorkloadRow& row);
  Status outage(WorkloadRow& row);
  Result<sched::RequestId> request(WorkloadRow& row);
  Status add_jobs(const WorkloadRow& row, const sim::SimJob& job, int64_t count);
  Status add_job(std::string_view name, Range jobs);

  std::string source_;
  CsvReader csv_;
  bool have_version_ = false;
  std::string section_;
  CsvHeader header_;
  bool have_header_ = false;
  Names queues_;
  Names prices_;
  Names nodes_;
  Names studies_;
  std::map<std::string, Range, std::less<>> jobs_;  ///< by name, and by the name of a row with a count
  Names arrays_;
  Names products_;
  sim::Workload workload_;
};

/// The workload as such a file; reading it gives an equal workload back.
/// @return error naming the entry that the format cannot hold: gangs with groups, labels and affinity, names that stand twice.
Result<std::string> write_workload(const sim::Workload& workload);

}  // namespace stint
