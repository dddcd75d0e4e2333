#include "sched/queue_usage.h"

#include <cmath>

namespace stint::sched {
namespace {

__extension__ using Wide = __int128;  // products of two amounts

int sign(Wide difference) { return difference < 0 ? -1 : difference > 0 ? 1 : 0; }

bool exceeds(int64_t held, int64_t wanted, const std::optional<int64_t>& bound) {
  return bound && wanted > 0 && held + wanted > *bound;
}

bool exceeds(const Amounts& held, const Amounts& wanted, const QueueAmounts& bound) {
  return exceeds(held.gpu_milli, wanted.gpu_milli, bound.gpu_milli) ||
         exceeds(held.cpu_milli, wanted.cpu_milli, bound.cpu_milli) ||
         exceeds(held.memory_bytes, wanted.memory_bytes, bound.memory_bytes);
}

}  // namespace

void add_to(Amounts& to, const Amounts& amounts, int64_t times) {
  to.gpu_milli += amounts.gpu_milli * times;
  to.cpu_milli += amounts.cpu_milli * times;
  to.memory_bytes += amounts.memory_bytes * times;
}

QueueId QueueUsage::add(const QueueSpec& spec) {
  CHECK(!spec.parent.valid() || spec.parent.index() < queues_.size(), "queue {} before its parent", spec.name);
  const QueueId id(static_cast<uint32_t>(queues_.size()));
  Queue& queue = queues_.emplace_back();
  queue.spec = spec;
  queue.depth = spec.parent.valid() ? queues_[spec.parent.index()].depth + 1 : 0;
  queue.weight_milli = std::llround(spec.over_quota_weight * 1000);
  any_deserved_ = any_deserved_ || spec.deserved.gpu_milli.has_value();
  number_leaves();
  return id;
}

void QueueUsage::change(QueueId q, const Amounts& amounts, bool preemptible) {
  for (QueueId at = q; at.valid(); at = queues_[at.index()].spec.parent) {
    Queue& queue = queues_[at.index()];
    add_to(queue.held, amounts);
    if (!preemptible) add_to(queue.held_firm, amounts);
  }
}

QueueId QueueUsage::limiting(QueueId q, const Amounts& wanted, bool preemptible) const {
  for (QueueId at = q; at.valid(); at = queues_[at.index()].spec.parent) {
    const Queue& queue = queues_[at.index()];
    if (exceeds(queue.held, wanted, queue.spec.limit)) return at;
    if (!preemptible && exceeds(queue.held_firm, wanted, queue.spec.deserved)) return at;
  }
  return {};
}

int64_t QueueUsage::missing_gpu_milli(QueueId at, const Amounts& wanted, bool preemptible) const {
  const Queue& queue = queues_[at.index()];
  int64_t missing = 0;
  if (queue.spec.limit.gpu_milli) missing = queue.held.gpu_milli + wanted.gpu_milli - *queue.spec.limit.gpu_milli;
  if (!preemptible && queue.spec.deserved.gpu_milli)
    missing = std::max(missing, queue.held_firm.gpu_milli + wanted.gpu_milli - *queue.spec.deserved.gpu_milli);
  return std::max<int64_t>(missing, 0);
}

bool QueueUsage::may_reclaim(QueueId taker, const Amounts& wanted, QueueId from, const std::vector<int64_t>& taken) const {
  if (taker == from) return false;
  const auto [a, b] = branches(taker.index(), from.index());
  const Queue& x = queues_[a];
  const Queue& y = queues_[b];
  if (a == b || !x.spec.deserved.gpu_milli || x.held.gpu_milli + wanted.gpu_milli > *x.spec.deserved.gpu_milli) return false;
  return y.held.gpu_milli - taken[b] > y.spec.deserved.gpu_milli.value_or(0);
}

int QueueUsage::compare(QueueId a, QueueId b) const {
  if (a == b) return 0;
  const auto [x, y] = branches(a.index(), b.index());
  return compare_siblings(x, y);
}

/// The siblings through which two leaves part.
std::pair<uint32_t, uint32_t> QueueUsage::branches(uint32_t x, uint32_t y) const {
  while (queues_[x].depth > queues_[y].depth)
    x = queues_[x].spec.parent.index();
  while (queues_[y].depth > queues_[x].depth)
    y = queues_[y].spec.parent.index();
  while (queues_[x].spec.parent != queues_[y].spec.parent) {
    x = queues_[x].spec.parent.index();
    y = queues_[y].spec.parent.index();
  }
  return {x, y};
}

int QueueUsage::compare_siblings(uint32_t a, uint32_t b) const {
  const Queue& x = queues_[a];
  const Queue& y = queues_[b];
  if (x.spec.priority != y.spec.priority) return x.spec.priority > y.spec.priority ? -1 : 1;
  const int64_t x_deserved = x.spec.deserved.gpu_milli.value_or(0);
  const int64_t y_deserved = y.spec.deserved.gpu_milli.value_or(0);
  const bool x_below = x.held.gpu_milli < x_deserved;
  const bool y_below = y.held.gpu_milli < y_deserved;
  if (x_below != y_below) return x_below ? -1 : 1;
  // Below: smaller held / deserved first. Above: smaller surplus / weight first; weight 0 asks for nothing, so last.
  const Wide x_amount = x_below ? x.held.gpu_milli : x.held.gpu_milli - x_deserved;
  const Wide y_amount = x_below ? y.held.gpu_milli : y.held.gpu_milli - y_deserved;
  const Wide x_weight = x_below ? x_deserved : x.weight_milli;
  const Wide y_weight = x_below ? y_deserved : y.weight_milli;
  if ((x_weight == 0) != (y_weight == 0)) return x_weight == 0 ? 1 : -1;
  if (const int by_share = sign(x_amount * y_weight - y_amount * x_weight); by_share != 0) return by_share;
  if (x.spec.created != y.spec.created) return x.spec.created < y.spec.created ? -1 : 1;
  return a < b ? -1 : 1;
}

void QueueUsage::number_leaves() {
  std::vector<std::vector<uint32_t>> children(queues_.size() + 1);  // the last: top level
  for (uint32_t q = 0; q < queues_.size(); ++q) {
    const QueueId parent = queues_[q].spec.parent;
    children[parent.valid() ? parent.index() : queues_.size()].push_back(q);
  }
  leaves_.clear();
  for (const uint32_t top : children.back())
    number_below(children, top);
}

void QueueUsage::number_below(const std::vector<std::vector<uint32_t>>& children, uint32_t q) {
  Range& range = queues_[q].slots;
  range.first = slot_count();
  for (const uint32_t child : children[q])
    number_below(children, child);
  if (children[q].empty()) leaves_.emplace_back(q);
  range.last = slot_count() - 1;
}

}  // namespace stint::sched
