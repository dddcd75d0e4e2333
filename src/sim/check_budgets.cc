#include "sim/check_budgets.h"

#include <fmt/format.h>

#include <algorithm>

namespace stint::sim {
namespace {

// The scheduler knows rates to the nano-unit per GPU-hour; this is far more than that can come to.
constexpr double kTolerance = 1e-6;

}  // namespace

CheckedBudgets::CheckedBudgets(const Workload& workload) : workload_(&workload) {
  for (uint32_t q = 0; q < workload.queues.size(); ++q)
    if (workload.queues[q].budget)
      books_.push_back({.queue = sched::QueueId(q), .held = std::vector<int64_t>(workload.nodes.size())});
}

void CheckedBudgets::hold(sched::QueueId queue, NodeId node, int64_t gpu_milli, Instant now) {
  if (books_.empty()) return;
  run_until(now);
  for (sched::QueueId q = queue; q.valid(); q = workload_->queues[q.index()].parent)
    for (Book& book : books_)
      if (book.queue == q) book.held[node.index()] += gpu_milli;
}

std::string CheckedBudgets::problem_of(sched::QueueId queue, Instant now) {
  if (books_.empty()) return {};
  run_until(now);
  for (sched::QueueId q = queue; q.valid(); q = workload_->queues[q.index()].parent)
    for (const Book& book : books_) {
      const double most = workload_->queues[book.queue.index()].budget->amount.to_double();
      if (book.queue == q && book.spent > most * (1 + kTolerance) + kTolerance)
        return fmt::format("queue '{}' has spent {} of {}", workload_->queues[q.index()].name, book.spent, most);
    }
  return {};
}

void CheckedBudgets::run_until(Instant now) {
  if (!began_) {
    began_ = true;
    now_ = now;
    for (Book& book : books_) {
      const sched::Budget& budget = *workload_->queues[book.queue.index()].budget;
      if (budget.period <= Duration()) continue;
      // Towards the first end after now, from whichever side.
      book.period_end = budget.from;
      while (book.period_end > now)
        book.period_end = book.period_end - budget.period;
      while (book.period_end <= now)
        book.period_end = book.period_end + budget.period;
    }
  }
  for (Book& book : books_) {
    Instant from = now_;
    const auto spend = [&](Instant until) {
      for (size_t n = 0; n < book.held.size(); ++n)
        if (book.held[n] > 0)
          book.spent +=
              cost_of_node(n, {from, until}) * static_cast<double>(book.held[n]) / (1000.0 * workload_->nodes[n].node.gpus);
      from = until;
    };
    for (; book.period_end <= now; book.spent = 0) {
      spend(book.period_end);
      book.period_end = book.period_end + workload_->queues[book.queue.index()].budget->period;
    }
    spend(now);
  }
  now_ = now;
}

/// Of the whole node, at the prices of the time.
double CheckedBudgets::cost_of_node(size_t n, Interval period) const {
  const SimNode& node = workload_->nodes[n];
  double cost = 0;
  Rate rate = node.rate;
  Instant from = period.begin;
  if (node.prices >= 0)
    for (const RatePoint& point : workload_->prices[static_cast<size_t>(node.prices)].points) {
      const Instant until = std::clamp(point.from, period.begin, period.end);
      cost += rate.per_hour().to_double() * (until - from).to_hours();
      from = until;
      rate = point.rate;
    }
  return cost + rate.per_hour().to_double() * (period.end - from).to_hours();
}

}  // namespace stint::sim
