// What became of a launch so far: its machines with the prices at which they were bought, how it ended; and what it cost.
//
// Kept as rows of the launch's log, fields apart by tabs, the last row of a machine counts:
//
//   machine NAME POOL NANOS CURRENCY BEGUN ENDED FLAGS SAVED PRINTED WHY    (instants in ns; ENDED may be -; flags: m made, s spoke, i interrupted)
//   stop AT
//   end CODE AT WHY
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "capacity/capacity_book.h"
#include "launch/launch_report.h"

namespace stint {

struct LaunchedMachine {
  std::string name, pool;
  Rate rate;  ///< when it was bought
  Instant begun;
  std::optional<Instant> ended;  ///< seen gone
  bool made = false;             ///< it was there: it costs
  bool spoke = false;            ///< its report was seen
  bool interrupted = false;      ///< it was taken back, or was gone without a word before its lifetime was over
  Duration saved;                ///< of its work, in copied checkpoints
  int64_t printed = 0;           ///< pieces of its output that the controller has passed on
  std::string why;               ///< it ended
  bool operator==(const LaunchedMachine&) const = default;

  /// Seconds count, a minute at least, from the order until it was seen gone. 0 for one that was never there.
  [[nodiscard]] Duration paid(Instant now) const;
  [[nodiscard]] Money cost(Instant now) const { return rate.over(paid(now)); }
};

struct LaunchEnd {
  int32_t code = 0;  ///< what the launch exits with
  Instant at;
  std::string why;  ///< "" = the command has ended
  bool operator==(const LaunchEnd&) const = default;
};

/// What a machine told, and when the controller heard it first.
struct HeardReport {
  LaunchReport report;
  Instant heard;
};

class LaunchRecord {
 public:
  /// In the order in which they were bought.
  [[nodiscard]] const std::vector<LaunchedMachine>& machines() const { return machines_; }
  [[nodiscard]] const std::optional<LaunchEnd>& end() const { return end_; }
  [[nodiscard]] const std::optional<Instant>& stopped() const { return stopped_; }
  /// Work of all machines that need not be done again.
  [[nodiscard]] Duration saved() const;
  [[nodiscard]] Money cost(Instant now) const;

  void stop(Instant now);
  /// One piece more of its output is passed on.
  void print_piece(const std::string& name) { ++machine(name).printed; }
  void finish(LaunchEnd end);
  /// What the book has learnt in its last step, and what the machines told.
  void update(Instant now, const CapacityBook& book, const std::vector<CapacityNews>& news,
              const std::map<std::string, HeardReport>& reports);
  /// Rows of what has changed since the last call.
  std::vector<std::string> take_rows();

  Status read_row(std::string_view row);

 private:
  LaunchedMachine& machine(const std::string& name);

  std::vector<LaunchedMachine> machines_;
  std::vector<LaunchedMachine> written_;
  std::optional<Instant> stopped_;
  std::optional<LaunchEnd> end_;
  bool new_stop_ = false, new_end_ = false;
};

}  // namespace stint
