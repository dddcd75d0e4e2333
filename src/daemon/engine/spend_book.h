// What this month has cost whom so far, and what the jobs that wait or run may still cost: the books that budgets and quotas
// are held against.
//
// An account is what can be told apart: queue, user, project. Time is the caller's; the month is a calendar month, UTC.
// Sums are in 128 bits: promises are upper bounds, and many of them together may pass what Money holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/money.h"
#include "base/time.h"

namespace stint {

__extension__ using Int128 = __int128;

/// Money in nano-units, and GPU time.
struct Spend {
  Int128 nanos = 0;
  Int128 micro_gpu_hours = 0;
  Spend& operator+=(const Spend& other) {
    nanos += other.nanos;
    micro_gpu_hours += other.micro_gpu_hours;
    return *this;
  }
  Spend& operator-=(const Spend& other) {
    nanos -= other.nanos;
    micro_gpu_hours -= other.micro_gpu_hours;
    return *this;
  }
  bool operator==(const Spend&) const = default;
};
/// The lesser of each.
Spend lesser(const Spend& a, const Spend& b);
/// As Money; what is beyond it is its largest amount.
Money money_of(Int128 nanos, Currency currency);
/// The part of `whole`, spread evenly over `over`, that falls into `part`.
Spend share_of(const Spend& whole, Interval over, Interval part);

struct Account {
  uint32_t queue = 0;
  std::string user, project;
  Spend spent;            ///< this month, what has been posted
  Spend promised;         ///< to jobs that have not ended: what they may cost at most, less what was posted for them
  int64_t gpu_milli = 0;  ///< asked for by jobs that have not ended
  int64_t waiting = 0;    ///< jobs not yet running: on hold, waiting, in want of approval
};

class SpendBook {
 public:
  /// The account, opened where it is new. Numbers ascend from 0 and stay.
  uint32_t account(uint32_t queue, const std::string& user, const std::string& project);
  [[nodiscard]] Account& operator[](uint32_t account) { return accounts_[account]; }
  [[nodiscard]] const Account& operator[](uint32_t account) const { return accounts_[account]; }
  [[nodiscard]] const std::vector<Account>& accounts() const { return accounts_; }
  /// As it was when these were its accounts() and its month().
  static SpendBook restored(std::vector<Account> accounts, Interval month);

  /// Time is `now`: never before the last call's. A new month begins with nothing spent.
  void advance(Instant now);
  [[nodiscard]] Interval month() const { return month_; }
  /// Spent over `when`, which ends by now; what lies before this month is not counted.
  void post(uint32_t account, Interval when, const Spend& amount);

 private:
  std::vector<Account> accounts_;
  std::map<std::tuple<uint32_t, std::string, std::string>, uint32_t> numbers_;
  Interval month_;
};

}  // namespace stint
