// What each queue may spend and has spent: money runs while its jobs hold GPUs, at the rate of the nodes they are on.
//
// A queue whose budget is spent, or below one whose is, starts nothing until the budget is renewed; what runs goes on, so a
// budget can be overrun by what was running. Spending is an integral of the burn rate and kept as one, in nano-units ·
// thousandths of a GPU · nanoseconds per hour: nothing is rounded on the way. Queues without a budget cost nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "sched/explanation.h"
#include "sched/queues/queue.h"

namespace stint::sched {

class QueueBudgets {
 public:
  __extension__ using Wide = __int128;

  /// Queues in the order of their ids. Budgets are of one currency.
  void add(const QueueSpec& spec);
  [[nodiscard]] bool any() const { return !accounts_.empty(); }

  /// Time is `now`; never before the last call's. Calls renewed(queue) for each whose next period has begun.
  template <typename Renewed>
  void advance(Instant now, Renewed&& renewed) {
    if (!any()) return;
    now_ = now;
    if (now < next_renewal_) return;
    next_renewal_ = Instant::from_ns(INT64_MAX);
    for (Account& account : accounts_) {
      if (account.ends <= now) {
        renew(account, now);
        renewed(account.queue);
      }
      next_renewal_ = std::min(next_renewal_, account.ends);
    }
  }
  /// When a budget that can be renewed is; the end of time when none can.
  [[nodiscard]] Instant next_renewal() const { return next_renewal_; }

  /// Jobs of the queue burn so much more (or less) from now on. @param by  nano-units per hour · thousandths of a GPU.
  void change_burn(QueueId q, Wide by);

  /// The queue (this one or one above) whose budget is spent; not valid = none.
  [[nodiscard]] QueueId spent(QueueId q) const { return any() ? spent_above(q) : QueueId(); }
  /// Of a queue that has a budget itself.
  /// @param at  as things stand then, when nothing happens before; not before the last advance().
  [[nodiscard]] std::optional<BudgetStanding> standing(QueueId q, Instant at) const;

  /// Calls mix(number) with everything that can influence a later answer.
  template <typename Mix>
  void mix_into(Mix&& mix) const {
    for (const Account& account : accounts_) {
      for (const Wide part : {account.area, account.burn})
        mix(static_cast<int64_t>(part >> 64)), mix(static_cast<int64_t>(part));
      mix(account.since.ns());
      mix(account.ends.ns());
    }
  }

 private:
  friend struct SnapshotParts;
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Account {
    QueueId queue;
    uint32_t above = kNone;  // the next account on the way up
    Budget budget;
    Wide bound = 0;  // the budget as an area
    Wide area = 0;   // spent in this period until `since`
    Wide burn = 0;
    Instant since;
    Instant ends;  // of the period
  };
  [[nodiscard]] QueueId spent_above(QueueId q) const;
  static void renew(Account& account, Instant now);
  static Wide area_at(const Account& account, Instant at) {
    return account.area + account.burn * (at - account.since).count_ns();
  }

  std::vector<Account> accounts_;     // those above before those below
  std::vector<uint32_t> account_of_;  // by queue: its own, or the next above; kNone
  Instant now_;
  Instant next_renewal_ = Instant::from_ns(INT64_MAX);
};

}  // namespace stint::sched
