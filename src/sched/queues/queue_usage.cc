#include "sched/queues/queue_usage.h"

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

/// The largest share: above it no difference can be told.
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

void QueueUsage::set_spec(QueueId q, const QueueSpec& spec) {
  Queue& queue = queues_[q.index()];
  const QueueSpec before = std::exchange(queue.spec, spec);
  queue.spec.parent = before.parent;
  queue.spec.created = before.created;
  queue.spec.budget = before.budget;
  queue.weight_milli = std::llround(spec.over_quota_weight * 1000);
  sides_[q.index()].priority = spec.priority;
  any_deserved_ = any_deserved_ || any(spec.deserved);
  any_limits_ = any_limits_ || any(spec.deserved) || any(spec.limit);
  tree_.set_spec(q, spec);
  count_due(queue);
  count(q);
}

QueueId QueueUsage::add(const QueueSpec& spec) {
  CHECK(!spec.parent.valid() || spec.parent.index() < queues_.size(), "queue {} before its parent", spec.name);
  const QueueId id(static_cast<uint32_t>(queues_.size()));
  Queue& queue = queues_.emplace_back();
  queue.spec = spec;
  queue.weight_milli = std::llround(spec.over_quota_weight * 1000);
  Side& side = sides_.emplace_back();
  side.priority = spec.priority;
  side.created = spec.created;
  side.parent = spec.parent;
  side.depth = spec.parent.valid() ? sides_[spec.parent.index()].depth + 1 : 0;
  any_deserved_ = any_deserved_ || any(spec.deserved);
  any_limits_ = any_limits_ || any(spec.deserved) || any(spec.limit);
  tree_.add(spec);
  count_due(queue);
  count(id);
  number_leaves();
  return id;
}

void QueueUsage::change(QueueId q, const Amounts& amounts, bool preemptible) {
  for (QueueId at = q; at.valid(); at = sides_[at.index()].parent) {
    Queue& queue = queues_[at.index()];
    add_to(queue.held, amounts);
    if (!preemptible) add_to(queue.held_firm, amounts);
    if (compared_) count(at);
  }
  if (fair_) tree_.change(q, amounts, preemptible);
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
    for (uint32_t q = 0; q < queues_.size(); ++q) {
      count_due(queues_[q]);
      count(QueueId(q));
    }
  if (const int64_t tick = clock_.runs() ? clock_.tick_at(now) : 0; tick != tick_) {
    tick_ = tick;
    for (uint32_t q = 0; q < queues_.size(); ++q) {
      const int64_t used = clock_.runs() ? queues_[q].past.average(clock_, tick) : 0;
      changed = changed || used != queues_[q].used;
      queues_[q].used = used;
      set_side(QueueId(q));
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
void QueueUsage::count(QueueId q) {
  Queue& queue = queues_[q.index()];
  const QueueAmounts& deserved = queue.spec.deserved;
  queue.share = share_of(queue.held);
  queue.of_deserved = {};
  for_each_deserved(queue.held, deserved, [&](int64_t held, int64_t due) {
    Part& most = queue.of_deserved;
    if (most.of > 0 && most.whole == 0) return;  // holds something of which it deserves nothing
    const bool more = due == 0 ? held > 0 : most.whole == 0 || Wide{held} * most.whole > Wide{most.of} * due;
    if (more) most = {.of = held, .whole = due};
  });
  if (clock_.runs() && tick_ >= 0) queue.past.change(clock_, queue.share, now_);
  set_side(q);
}

/// The same of what it deserves, when that or the fleet has changed.
void QueueUsage::count_due(Queue& queue) {
  const QueueAmounts& deserved = queue.spec.deserved;
  queue.deserved_share = share_of({.gpu_milli = deserved.gpu_milli.value_or(0),
                                   .cpu_milli = deserved.cpu_milli.value_or(0),
                                   .memory_bytes = deserved.memory_bytes.value_or(0)});
}

/// Below what it deserves the smaller part of it goes first; above it less over it, now and in the past, per weight.
void QueueUsage::set_side(QueueId q) {
  const Queue& queue = queues_[q.index()];
  Side& side = sides_[q.index()];
  side.below = queue.of_deserved.of < queue.of_deserved.whole;
  side.amount = side.below ? queue.of_deserved.of
                           : queue.share - queue.deserved_share + std::max<int64_t>(0, queue.used - queue.deserved_share);
  side.weight = side.below ? queue.of_deserved.whole : queue.weight_milli;
}

QueueId QueueUsage::limiting_above(QueueId q, const Amounts& wanted, bool preemptible, std::span<const Amounts> gone) const {
  for (QueueId at = q; at.valid(); at = queues_[at.index()].spec.parent) {
    const Queue& queue = queues_[at.index()];
    Amounts held = queue.held;
    if (!gone.empty()) add_to(held, gone[at.index()], -1);
    if (exceeds(held, wanted, queue.spec.limit)) return at;
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

bool QueueUsage::may_reclaim(QueueId taker, const Amounts& wanted, QueueId from, const std::vector<Amounts>& taken,
                             const std::vector<Amounts>& gone) const {
  if (taker == from) return false;
  const auto [a, b] = branches(taker.index(), from.index());
  const Queue& x = queues_[a];
  const Queue& y = queues_[b];
  const Amounts claimed = guaranteed(wanted, x.spec.deserved);
  Amounts kept = x.held;  // those of its own side that have given way count no longer
  add_to(kept, gone[a], -1);
  if (a == b || claimed == Amounts() || exceeds(kept, claimed, x.spec.deserved)) return false;
  Amounts left = y.held;
  add_to(left, taken[b], -1);
  return above_due(left, y.spec.deserved, claimed);
}

uint64_t QueueUsage::claims(QueueId q, const Amounts& wanted) const {
  uint64_t levels = 0;
  for (QueueId at = q; at.valid(); at = queues_[at.index()].spec.parent) {
    const Queue& queue = queues_[at.index()];
    const Amounts claimed = guaranteed(wanted, queue.spec.deserved);
    const int32_t depth = sides_[at.index()].depth;
    if (depth < 64 && claimed != Amounts() && !exceeds(queue.held, claimed, queue.spec.deserved))
      levels |= uint64_t{1} << (63 - depth);
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

void QueueUsage::divide_shares(std::span<const Amounts> waiting) {
  for (uint32_t q = 0; q < queues_.size(); ++q) {
    Amounts request = waiting[q];
    add_to(request, queues_[q].held);
    tree_.set_request(QueueId(q), request);
  }
  tree_.divide(capacity_);
}

int QueueUsage::compare(const QueueTree::Next& a, const QueueTree::Next& b) const {
  if (!fair_) return compare(a.queue, b.queue);
  const QueueTree::Branches sides = tree_.branches(a.queue, b.queue);
  return tree_.compare({sides.a, a.take, a.preemptible}, {sides.b, b.take, b.preemptible});
}

int QueueUsage::compare(QueueId a, QueueId b) const {
  if (a == b) return 0;
  if (fair_) return compare({a, {}, true}, {b, {}, true});
  if (sides_[a.index()].parent == sides_[b.index()].parent) return compare_siblings(a.index(), b.index());
  const auto [x, y] = branches(a.index(), b.index());
  return compare_siblings(x, y);
}

/// The siblings through which two leaves part.
std::pair<uint32_t, uint32_t> QueueUsage::branches(uint32_t x, uint32_t y) const {
  const auto up = [&](uint32_t& q) { q = sides_[q].parent.index(); };
  while (sides_[x].depth > sides_[y].depth)
    up(x);
  while (sides_[y].depth > sides_[x].depth)
    up(y);
  for (; sides_[x].parent != sides_[y].parent; up(y))
    up(x);
  return {x, y};
}

int QueueUsage::compare_siblings(uint32_t a, uint32_t b) const {
  const Side& x = sides_[a];
  const Side& y = sides_[b];
  if (x.priority != y.priority) return x.priority > y.priority ? -1 : 1;
  if (x.below != y.below) return x.below ? -1 : 1;
  if ((x.weight == 0) != (y.weight == 0)) return x.weight == 0 ? 1 : -1;  // weight 0 asks for nothing, so last
  const int by_share = x.weight == y.weight && x.weight != 0 ? (x.amount > y.amount) - (x.amount < y.amount)
                                                             : sign(Wide{x.amount} * y.weight - Wide{y.amount} * x.weight);
  if (by_share != 0) return by_share;
  if (x.created != y.created) return x.created < y.created ? -1 : 1;
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
