#include "sched/scheduler_accounts.h"

#include <algorithm>
#include <utility>

#include "sched/search/claim.h"

namespace stint::sched {
namespace {

Amounts times(const Amounts& amounts, int64_t count) {
  Amounts product;
  add_to(product, amounts, count);
  return product;
}

}  // namespace

void Accounts::advance() {
  if (book_.queues.advance(s_.clock.now)) {
    s_.pending.renumber(book_.queues);
    ++s_.clock.changes;
  }
  book_.budgets.advance(s_.clock.now, [&](QueueId q) {
    s_.pending.share_changed(book_.queues, q, true);
    ++s_.clock.changes;
  });
}

void Accounts::charge(JobId j, const Amounts& amounts, int sign) {
  const JobRecord& r = s_.jobs[j];
  Amounts change;
  add_to(change, amounts, sign);
  book_.queues.change(r.queue, change, s_.jobs.shape(r.shape).preemptible);
  ++s_.clock.changes;
  s_.pending.share_changed(book_.queues, r.queue, sign < 0);
}

void Accounts::meter(JobId j) {
  if (!book_.budgets.any()) return;
  if (book_.burns.size() < s_.jobs.size()) book_.burns.resize(s_.jobs.size());
  const QueueBudgets::Wide burn = burn_of(j);
  const QueueBudgets::Wide before = std::exchange(book_.burns[j.index()], burn);
  if (burn != before) book_.budgets.change_burn(s_.jobs[j].queue, burn - before);
}

QueueBudgets::Wide Accounts::burn_of(JobId j) const {
  QueueBudgets::Wide burn = 0;
  for (const Task& task : s_.jobs.tasks_of(j))
    if (task.holds(Room::kFree))
      burn += QueueBudgets::Wide{s_.gpu_rates[task.place.node.index()].per_hour().count_nanos()} * s_.cluster.gpu_milli(task);
  return burn;
}

int32_t Accounts::tasks_within_limits(JobId j) const {
  const JobRecord& r = s_.jobs[j];
  if (book_.budgets.spent(r.queue).valid()) return 0;
  const Shape& shape = s_.jobs.shape(r.shape);
  if (!book_.queues.limiting(r.queue, shape.total, shape.preemptible).valid()) return shape.tasks;
  if (shape.gang.valid())
    return book_.queues.limiting(r.queue, s_.jobs.least_amounts(j), shape.preemptible).valid() ? 0 : shape.min_tasks;
  for (int32_t tasks = shape.tasks - 1; tasks >= shape.min_tasks; --tasks)
    if (!book_.queues.limiting(r.queue, times(s_.cluster.amounts(shape.request), tasks), shape.preemptible).valid()) return tasks;
  return 0;
}

void Accounts::divide_shares(std::span<const JobId> growing) {
  std::vector<Amounts> waiting(book_.queues.size());
  const auto add = [&](QueueId q, const Amounts& amounts, int64_t times) {
    for (; q.valid(); q = book_.queues.spec(q).parent)
      add_to(waiting[q.index()], amounts, times);
  };
  s_.pending.for_each_group([&](QueueId q, ShapeId s, int64_t count) { add(q, s_.jobs.shape(s).total, count); });
  for (const JobId j : growing)
    if (s_.jobs[j].phase == Phase::kRunning) {
      const JobRecord& r = s_.jobs[j];
      for (const Task& task : s_.jobs.tasks_of(j))
        if (task.state == TaskState::kPending) add(r.queue, s_.cluster.amounts(task.request), 1);
    }
  book_.queues.divide_shares(waiting);
  s_.pending.renumber(book_.queues);
}

bool Accounts::may_claim_fairly(JobId j) const {
  return may_claim(book_.queues.fair_shares(), s_.jobs[j].queue, s_.jobs.least_amounts(j), s_.jobs.shape_of(j).preemptible);
}

}  // namespace stint::sched
