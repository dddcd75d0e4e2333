#include "sched/queues/queue_tree.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sched/queues/fair_share.h"

namespace stint::sched {
namespace {

__extension__ using Wide = __int128;  // products of two amounts

Amounts bounds(const QueueAmounts& a) {
  return {a.gpu_milli.value_or(kNoBound), a.cpu_milli.value_or(kNoBound), a.memory_bytes.value_or(kNoBound)};
}

/// What is divided in whole pieces: GPUs, thousandths of a CPU, bytes.
int64_t unit_of(int64_t Amounts::* resource) { return resource == &Amounts::gpu_milli ? kMilli : 1; }

/// held ÷ may, of one resource. Nothing held = 0; something held where nothing may be = more than any that may.
struct Fraction {
  int64_t held = 0;
  int64_t may = 1;
  bool operator<(const Fraction& o) const {
    if (held == 0 || o.held == 0) return held < o.held;
    if ((may == 0) != (o.may == 0)) return o.may == 0;
    if (may == 0) return held < o.held;
    return static_cast<Wide>(held) * o.may < static_cast<Wide>(o.held) * may;
  }
};

}  // namespace

void add_amounts(Amounts& to, const Amounts& amounts, int64_t times) {
  for (const auto r : kResources)
    to.*r += amounts.*r * times;
}

QueueId QueueTree::add(const QueueSpec& spec) {
  CHECK(!spec.parent.valid() || spec.parent.index() < queues_.size(), "queue {} is added before its parent", spec.name);
  const QueueId id(static_cast<uint32_t>(queues_.size()));
  Queue queue;
  queue.spec = spec;
  queue.deserved = bounds(spec.deserved);
  queue.limit = bounds(spec.limit);
  if (spec.parent.valid()) {
    Queue& parent = queues_[spec.parent.index()];
    queue.depth = parent.depth + 1;
    parent.children.push_back(id);
  } else {
    roots_.push_back(id);
  }
  queues_.push_back(std::move(queue));
  return id;
}

void QueueTree::set_spec(QueueId q, const QueueSpec& spec) {
  Queue& queue = queues_[q.index()];
  const QueueSpec before = std::exchange(queue.spec, spec);
  queue.spec.parent = before.parent;
  queue.spec.created = before.created;
  queue.deserved = bounds(spec.deserved);
  queue.limit = bounds(spec.limit);
}

std::span<const QueueId> QueueTree::children(QueueId q) const { return q.valid() ? queues_[q.index()].children : roots_; }

void QueueTree::apply(QueueId q, const Amounts& amounts, bool preemptible, int64_t times) {
  for (; q.valid(); q = parent(q)) {
    add_amounts(queues_[q.index()].held, amounts, times);
    if (!preemptible) add_amounts(queues_[q.index()].held_firm, amounts, times);
  }
}

void QueueTree::charge(QueueId q, const Amounts& amounts, bool preemptible, int64_t times) {
  Amounts all;
  add_amounts(all, amounts, times);
  apply(q, all, preemptible, 1);
  log_.push_back({q, all, preemptible});
}

void QueueTree::take_back(size_t mark) {
  CHECK(mark <= log_.size(), "mark {} of {} charges", mark, log_.size());
  for (; log_.size() > mark; log_.pop_back())
    apply(log_.back().queue, log_.back().amounts, log_.back().preemptible, -1);
}

bool QueueTree::within_limits(QueueId q, const Amounts& more, bool preemptible) const {
  for (; q.valid(); q = parent(q)) {
    const Queue& queue = queues_[q.index()];
    for (const auto r : kResources) {
      if (more.*r == 0) continue;
      if (queue.held.*r + more.*r > queue.limit.*r) return false;
      if (!preemptible && queue.held_firm.*r + more.*r > queue.deserved.*r) return false;
    }
  }
  return true;
}

void QueueTree::divide(const Amounts& total) {
  total_ = total;
  // A limit at a lower level caps what can be wanted above it, so requests are summed from the leaves up, each within its limit.
  for (size_t i = queues_.size(); i-- > 0;) {
    Queue& queue = queues_[i];
    if (queue.children.empty()) continue;
    queue.request = {};
    for (const QueueId child : queue.children)
      for (const auto r : kResources)
        queue.request.*r += queues_[child.index()].request.*r;
  }
  divide_level(QueueId(), total);
}

void QueueTree::divide_level(QueueId parent, const Amounts& total) {
  const std::span<const QueueId> siblings = children(parent);
  if (siblings.empty()) return;
  std::vector<ShareClaim> claims(siblings.size());
  for (const auto r : kResources) {
    for (size_t i = 0; i < siblings.size(); ++i) {
      const Queue& queue = queues_[siblings[i].index()];
      ShareClaim& claim = claims[i];
      claim = {};
      claim.deserved = queue.deserved.*r == kNoBound ? kUnlimitedAmount : queue.deserved.*r;
      claim.limit = queue.limit.*r == kNoBound ? kUnlimitedAmount : queue.limit.*r;
      claim.request = queue.request.*r;
      claim.weight = r == &Amounts::gpu_milli ? queue.spec.over_quota_weight : 1;
      claim.priority = queue.spec.priority;
      claim.created = queue.spec.created;
    }
    const ShareResult result = divide_fair_share({.total = total.*r, .unit = unit_of(r)}, claims);
    for (size_t i = 0; i < siblings.size(); ++i)
      queues_[siblings[i].index()].share.*r = result.share[i];
  }
  for (const QueueId q : siblings)
    divide_level(q, queues_[q.index()].share);
}

Amounts QueueTree::allocatable(QueueId q) const {
  const Queue& queue = queues_[q.index()];
  Amounts out;
  for (const auto r : kResources)
    out.*r = std::min(queue.limit.*r, std::max(queue.deserved.*r, queue.share.*r));
  return out;
}

QueueTree::Branches QueueTree::branches(QueueId a, QueueId b) const {
  const auto depth = [&](QueueId q) { return queues_[q.index()].depth; };
  while (depth(a) > depth(b))
    a = parent(a);
  while (depth(b) > depth(a))
    b = parent(b);
  while (a != b && parent(a) != parent(b)) {
    a = parent(a);
    b = parent(b);
  }
  return {a, b};
}

/// What it would take does not count yet; what it would lose is gone already.
bool QueueTree::above_share(const Next& next) const {
  const Queue& queue = queues_[next.queue.index()];
  return std::any_of(kResources.begin(), kResources.end(),
                     [&](auto r) { return queue.held.*r + std::min<int64_t>(next.take.*r, 0) > queue.share.*r; });
}

bool QueueTree::stays_deserved(const Next& next) const {
  const Queue& queue = queues_[next.queue.index()];
  return std::all_of(kResources.begin(), kResources.end(), [&](auto r) {
    if (next.take.*r == 0) return true;
    return queue.held.*r + next.take.*r <= queue.deserved.*r &&
           (next.preemptible || queue.held_firm.*r + next.take.*r <= queue.deserved.*r);
  });
}

int QueueTree::compare_dominant(const Next& a, const Next& b) const {
  const auto dominant = [&](const Next& next) {
    const Amounts may = allocatable(next.queue);
    Fraction largest;
    for (const auto r : kResources) {
      const int64_t bound = may.*r == kNoBound ? total_.*r : may.*r;
      const Fraction f{queues_[next.queue.index()].held.*r + next.take.*r, bound};
      if (largest < f) largest = f;
    }
    return largest;
  };
  const Fraction fa = dominant(a);
  const Fraction fb = dominant(b);
  return fa < fb ? -1 : fb < fa ? 1 : 0;
}

int QueueTree::compare(const Next& a, const Next& b) const {
  if (a.queue == b.queue) return 0;
  const bool above_a = above_share(a);
  const bool above_b = above_share(b);
  if (above_a != above_b) return above_a ? 1 : -1;
  const bool deserved_a = stays_deserved(a);
  const bool deserved_b = stays_deserved(b);
  if (deserved_a != deserved_b) return deserved_a ? -1 : 1;
  const QueueSpec& sa = spec(a.queue);
  const QueueSpec& sb = spec(b.queue);
  if (sa.priority != sb.priority) return sa.priority > sb.priority ? -1 : 1;
  if (const int c = compare_dominant(a, b); c != 0) return c;
  const Amounts may_a = allocatable(a.queue);
  const Amounts may_b = allocatable(b.queue);
  for (const auto r : kResources)
    if (may_a.*r != may_b.*r) return may_a.*r < may_b.*r ? -1 : 1;
  if (sa.created != sb.created) return sa.created < sb.created ? -1 : 1;
  return a.queue < b.queue ? -1 : 1;
}

}  // namespace stint::sched
