// What queues hold and spend, kept in step with what their jobs do; and what their limits leave a job.
#pragma once

#include <span>
#include <vector>

#include "sched/scheduler_books.h"

namespace stint::sched {

class Accounts {
 public:
  struct View {
    StepClock& clock;
    const JobTable& jobs;
    const Cluster& cluster;
    const std::vector<Rate>& gpu_rates;
    Pending& pending;  ///< who goes first follows what queues hold
  };
  Accounts(const View& view, AccountBook& book) : s_(view), book_(book) {}

  [[nodiscard]] const QueueUsage& queues() const { return book_.queues; }
  [[nodiscard]] const QueueBudgets& budgets() const { return book_.budgets; }

  /// Time is the clock's: past usage decays, budgets are renewed.
  void advance();
  /// The queue holds so much more, or less. @param sign  1 or −1.
  void charge(JobId j, const Amounts& amounts, int sign);
  /// Its queue, and those above, pay for what it holds on nodes now: what runs and what is leaving.
  void meter(JobId j);
  /// So much more is there to be shared, or less.
  void add_capacity(const Amounts& amounts) { book_.queues.add_capacity(amounts); }
  /// How many of its tasks the limits of its queues leave room for; 0 when it cannot start within them.
  [[nodiscard]] int32_t tasks_within_limits(JobId j) const;
  /// Does its queue stay within its fair share with the job, at its own level?
  [[nodiscard]] bool may_claim_fairly(JobId j) const;
  /// Divides the fleet into fair shares: by what the queues' jobs hold and wait for.
  void divide_shares(std::span<const JobId> growing);

 private:
  [[nodiscard]] QueueBudgets::Wide burn_of(JobId j) const;

  View s_;
  AccountBook& book_;
};

}  // namespace stint::sched
