// The step being put together: its records, and what the log keeps beside them.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/engine/record.h"
#include "store/event_log.h"

namespace stint {

struct StagedStep {
  std::vector<Record> records;
  std::map<std::string, LogKey, std::less<>> keys;  ///< by key
  std::vector<SideRow> rows;
  std::vector<std::string> renewals;
  uint32_t jobs = 0;
  std::map<std::string, int64_t, std::less<>> numbers;  ///< by client: jobs in it

  void put(Record record) { records.push_back(std::move(record)); }
  /// All but the records, which the log is being given.
  void clear_beside_records();
  /// It cannot be written: commands have not happened. What the backend told has, and it does not tell it twice.
  void keep_what_happened();

  struct Mark {
    size_t records = 0, rows = 0;
    uint32_t jobs = 0;
    std::map<std::string, int64_t, std::less<>> numbers;
  };
  [[nodiscard]] Mark mark() const { return {records.size(), rows.size(), jobs, numbers}; }
  void back_to(Mark mark);
};

}  // namespace stint
