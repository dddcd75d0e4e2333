#include "sched/queue_usage.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

/// The largest share: above it nobody can tell the difference.
constexpr int64_t kMostShare = int64_t{1} << 60;

/// Calls use(part, bound) for each resource the queue deserves something of.
template <typename Use>
void for_each_deserved(const Amounts& part, const QueueAmounts& deserved, Use&& use) {
  if (deserved.gpu_milli) use(part.gpu_milli, *deserved.gpu_milli);
  if (deserved.cpu_milli) use(part.cpu_milli, *deserved.cpu_milli);
  if (deserved.memory_bytes) use(part.memory_bytes, *deserved.memory_bytes);
}

bool any(const QueueAmounts& amounts) { return amounts.gpu_milli || amounts.cpu_milli || amounts.memory_bytes; }

/// Holds more than it deserves of something that `wanted` asks for. Who deserves nothing holds too much with anything; who
/// deserves some of one resource holds others as it likes.
bool above_due(const Amounts& held, const QueueAmounts& deserved, const Amounts& wanted) {
  const bool nothing = !any(deserved);
  const auto above = [&](int64_t amount, const std::optional<int64_t>& due, int64_t asked) {
    return asked > 0 && (due || nothing) && amount > due.value_or(0);
  };
  return above(held.gpu_milli, deserved.gpu_milli, wanted.gpu_milli) ||
         above(held.cpu_milli, deserved.cpu_milli, wanted.cpu_milli) ||
         above(held.memory_bytes, deserved.memory_bytes, wanted.memory_bytes);
}

/// What of `wanted` the queue deserves something of.
Amounts guaranteed(const Amounts& wanted, const QueueAmounts& deserved) {
  return {.gpu_milli = deserved.gpu_milli ? wanted.gpu_milli : 0,
          .cpu_milli = deserved.cpu_milli ? wanted.cpu_milli : 0,
          .memory_bytes = deserved.memory_bytes ? wanted.memory_bytes : 0};
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
  any_deserved_ = any_deserved_ || any(spec.deserved);
  count(queue);
  number_leaves();
  return id;
}

void QueueUsage::change(QueueId q, const Amounts& amounts, bool preemptible) {
  for (QueueId at = q; at.valid(); at = queues_[at.index()].spec.parent) {
    Queue& queue = queues_[at.index()];
    add_to(queue.held, amounts);
    if (!preemptible) add_to(queue.held_firm, amounts);
    if (compared_) count(queue);
  }
}

void QueueUsage::add_capacity(const Amounts& amounts) {
  add_to(capacity_, amounts);
  capacity_changed_ = true;
}

bool QueueUsage::advance(Instant now) {
  now_ = now;
  if (!compared_) return false;
  if (clock_.runs() && tick_ < 0) clock_.begin(now);
  bool changed = std::exchange(capacity_changed_, false);
  if (changed)
    for (Queue& queue : queues_)
      count(queue);
  if (const int64_t tick = clock_.runs() ? clock_.tick_at(now) : 0; tick != tick_) {
    tick_ = tick;
    for (Queue& queue : queues_) {
      const int64_t used = clock_.runs() ? queue.past.average(clock_, tick) : 0;
      changed = changed || used != queue.used;
      queue.used = used;
    }
  }
  return changed;
}

/// The dominant share. A fleet without GPUs counts in thousandths of a CPU.
int64_t QueueUsage::share_of(const Amounts& amounts) const {
  const int64_t gpus = std::min(amounts.gpu_milli, kMostShare >> kShareShift) << kShareShift;
  if (amounts.cpu_milli == 0 && amounts.memory_bytes == 0) return gpus;
  const Wide whole = Wide{capacity_.gpu_milli > 0 ? capacity_.gpu_milli : capacity_.cpu_milli} << kShareShift;
  const auto part = [&](int64_t amount, int64_t capacity) {
    return capacity <= 0 ? 0 : static_cast<int64_t>(std::min<Wide>(amount * whole / capacity, kMostShare));
  };
  return std::max({gpus, part(amounts.cpu_milli, capacity_.cpu_milli), part(amounts.memory_bytes, capacity_.memory_bytes)});
}

/// Brings what is derived from its holdings up to date.
void QueueUsage::count(Queue& queue) {
  const QueueAmounts& deserved = queue.spec.deserved;
  queue.share = share_of(queue.held);
  queue.of_deserved = {};
  for_each_deserved(queue.held, deserved, [&](int64_t held, int64_t due) {
    Part& most = queue.of_deserved;
    if (most.of > 0 && most.whole == 0) return;  // holds something of which it deserves nothing
    const bool more = due == 0 ? held > 0 : most.whole == 0 || Wide{held} * most.whole > Wide{most.of} * due;
    if (more) most = {.of = held, .whole = due};
  });
  queue.deserved_share = share_of({.gpu_milli = deserved.gpu_milli.value_or(0),
                                   .cpu_milli = deserved.cpu_milli.value_or(0),
                                   .memory_bytes = deserved.memory_bytes.value_or(0)});
  if (clock_.runs() && tick_ >= 0) queue.past.change(clock_, queue.share, now_);
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

bool QueueUsage::may_reclaim(QueueId taker, const Amounts& wanted, QueueId from, const std::vector<Amounts>& taken) const {
  if (taker == from) return false;
  const auto [a, b] = branches(taker.index(), from.index());
  const Queue& x = queues_[a];
  const Queue& y = queues_[b];
  const Amounts claimed = guaranteed(wanted, x.spec.deserved);
  if (a == b || claimed == Amounts() || exceeds(x.held, claimed, x.spec.deserved)) return false;
  Amounts left = y.held;
  add_to(left, taken[b], -1);
  return above_due(left, y.spec.deserved, claimed);
}

uint64_t QueueUsage::claims(QueueId q, const Amounts& wanted) const {
  uint64_t levels = 0;
  for (QueueId at = q; at.valid(); at = queues_[at.index()].spec.parent) {
    const Queue& queue = queues_[at.index()];
    const Amounts claimed = guaranteed(wanted, queue.spec.deserved);
    if (queue.depth < 64 && claimed != Amounts() && !exceeds(queue.held, claimed, queue.spec.deserved))
      levels |= uint64_t{1} << (63 - queue.depth);
  }
  return levels;
}

bool QueueUsage::is_guaranteed(QueueId holder, const Amounts& part, QueueId other) const {
  if (holder == other) return false;
  const auto [a, b] = branches(holder.index(), other.index());
  const Queue& x = queues_[a];
  const Amounts due = guaranteed(part, x.spec.deserved);
  return a != b && due != Amounts() && !above_due(x.held, x.spec.deserved, due);
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
  const bool x_below = x.of_deserved.of < x.of_deserved.whole;
  const bool y_below = y.of_deserved.of < y.of_deserved.whole;
  if (x_below != y_below) return x_below ? -1 : 1;
  // Below: smaller held / deserved first. Above: smaller surplus / weight first; weight 0 asks for nothing, so last.
  const auto surplus = [](const Queue& q) {
    return q.share - q.deserved_share + std::max<int64_t>(0, q.used - q.deserved_share);
  };
  const Wide x_amount = x_below ? x.of_deserved.of : surplus(x);
  const Wide y_amount = x_below ? y.of_deserved.of : surplus(y);
  const Wide x_weight = x_below ? x.of_deserved.whole : x.weight_milli;
  const Wide y_weight = x_below ? y.of_deserved.whole : y.weight_milli;
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
