#include "sched/queues/pending.h"

#include <algorithm>
#include <utility>

namespace stint::sched {
namespace {

bool later(const Waiting& a, const Waiting& b) { return b.before(a); }

void heap_push(std::vector<Waiting>& heap, const Waiting& w) {
  heap.push_back(w);
  std::push_heap(heap.begin(), heap.end(), later);
}

void heap_pop(std::vector<Waiting>& heap) {
  std::pop_heap(heap.begin(), heap.end(), later);
  heap.pop_back();
}

}  // namespace

Pending::Line& Pending::line(const QueueUsage& queues, ShapeId shape) {
  if (shape.index() >= lines_.size()) lines_.resize(shape.index() + 1);
  Line& line = lines_[shape.index()];
  if (line.group_at.size() < queues.slot_count()) set_up(queues, line);
  return line;
}

void Pending::set_up(const QueueUsage& queues, Line& line) {
  line.group_at.assign(queues.slot_count(), kNone);
  for (line.base = 1; line.base < queues.slot_count();)
    line.base *= 2;
  line.winner.assign(2 * size_t{line.base}, kNone);
}

Pending::Group& Pending::group(const QueueUsage& queues, QueueId queue, ShapeId shape) {
  uint32_t& at = line(queues, shape).group_at[queues.slots(queue).first];
  if (at == kNone) {
    at = static_cast<uint32_t>(groups_.size());
    groups_.push_back(
        {.queue = queue, .shape = shape, .amounts = {}, .preemptible = true, .heap = {}, .gone = {}, .closed = false});
  }
  return groups_[at];
}

void Pending::push(const QueueUsage& queues, QueueId queue, ShapeId shape, const Amounts& amounts, bool preemptible,
                   const Waiting& job) {
  Group& g = group(queues, queue, shape);
  g.amounts = amounts;
  g.preemptible = preemptible;
  heap_push(g.heap, job);
  Line& l = lines_[shape.index()];
  if (l.count++ == 0) active_.push_back(shape);
  ++count_;
  if (g.heap.front() == job) play_group(queues, l, queues.slots(queue).first);
}

void Pending::removed(const QueueUsage& queues, QueueId queue, ShapeId shape, const Waiting& job) {
  Group& g = group(queues, queue, shape);
  Line& l = lines_[shape.index()];
  CHECK(!g.heap.empty() && l.count > 0, "job {} does not wait", job.job.index());
  if (--l.count == 0) active_.erase(std::find(active_.begin(), active_.end(), shape));
  --count_;
  if (g.heap.front() == job) {
    heap_pop(g.heap);
    settle(g);
    play_group(queues, l, queues.slots(queue).first);
  } else {
    heap_push(g.gone, job);
  }
}

void Pending::settle(Group& group) {
  while (!group.gone.empty() && !group.heap.empty() && group.gone.front() == group.heap.front()) {
    heap_pop(group.gone);
    heap_pop(group.heap);
  }
}

bool Pending::head_before(const QueueUsage& queues, ShapeId a, ShapeId b) const {
  const uint32_t x = lines_[a.index()].first();
  return better(queues, x, lines_[b.index()].first()) == x;
}

bool Pending::leads(const QueueUsage& queues, QueueId queue, ShapeId shape, JobId job) const {
  const Group& g = groups_[lines_[shape.index()].group_at[queues.slots(queue).first]];
  return plays(g) && g.heap.front().job == job;
}

bool Pending::before(const QueueUsage& queues, QueueId queue_a, ShapeId a, QueueId queue_b, ShapeId b) const {
  const uint32_t x = lines_[a.index()].group_at[queues.slots(queue_a).first];
  const uint32_t y = lines_[b.index()].group_at[queues.slots(queue_b).first];
  return x != y && better(queues, x, y) == x;
}

int64_t Pending::count(ShapeId shape) const { return shape.index() < lines_.size() ? lines_[shape.index()].count : 0; }

bool Pending::queues_matter(const QueueUsage& queues) const {
  return rule_ == QueueRule::kByShare || (rule_ == QueueRule::kByClaim && queues.any_deserved());
}

uint32_t Pending::better(const QueueUsage& queues, uint32_t a, uint32_t b) const {
  if (a == kNone) return b;
  if (b == kNone) return a;
  if (rule_ == QueueRule::kByShare) {
    const Group& x = groups_[a];
    const Group& y = groups_[b];
    const int by_share = !queues.are_fair()   ? queues.compare(x.queue, y.queue)
                         : x.queue == y.queue ? 0
                                              : queues.compare(QueueTree::Next{x.queue, x.amounts, x.preemptible},
                                                               QueueTree::Next{y.queue, y.amounts, y.preemptible});
    if (by_share != 0) return by_share < 0 ? a : b;
  } else if (queues_matter(queues)) {
    const uint64_t a_claims = queues.claims(groups_[a].queue, groups_[a].amounts);
    const uint64_t b_claims = queues.claims(groups_[b].queue, groups_[b].amounts);
    if (a_claims != b_claims) return a_claims > b_claims ? a : b;
  }
  return groups_[a].heap.front().before(groups_[b].heap.front()) ? a : b;
}

/// Of all that play only the group at the slot may have changed: where it neither won nor wins, all is as it was further up.
void Pending::play_group(const QueueUsage& queues, Line& line, uint32_t slot) {
  const uint32_t group = line.group_at[slot];
  uint32_t winner = group != kNone && plays(groups_[group]) ? group : kNone;
  size_t at = line.base + slot;
  uint32_t before = std::exchange(line.winner[at], winner);
  if (winner == kNone && before == kNone) return;
  while (at > 1 && (winner != before || winner == group)) {
    const uint32_t other = line.winner[at ^ 1];
    at /= 2;
    winner = better(queues, winner, other);
    before = std::exchange(line.winner[at], winner);
  }
}

/// The groups of a branch have changed against others: plays all matches above the slot.
void Pending::play_branch(const QueueUsage& queues, Line& line, uint32_t slot) {
  size_t at = line.base + slot;
  for (at /= 2; at > 0; at /= 2)
    line.winner[at] = better(queues, line.winner[2 * at], line.winner[2 * at + 1]);
}

void Pending::close(const QueueUsage& queues, QueueId queue, ShapeId shape, QueueId at) {
  Group& g = group(queues, queue, shape);
  g.closed = true;
  ++closed_;
  if (closed_at_.size() < queues.size()) closed_at_.resize(queues.size());
  closed_at_[at.index()].push_back(static_cast<uint32_t>(&g - groups_.data()));
  play_group(queues, lines_[shape.index()], queues.slots(queue).first);
}

void Pending::set_aside(const QueueUsage& queues, QueueId queue, ShapeId shape) {
  Group& g = group(queues, queue, shape);
  if (g.closed) return;
  g.closed = true;
  aside_.push_back(static_cast<uint32_t>(&g - groups_.data()));
  play_group(queues, lines_[shape.index()], queues.slots(queue).first);
}

void Pending::bring_back(const QueueUsage& queues) {
  for (const uint32_t g : std::exchange(aside_, {})) {
    groups_[g].closed = false;
    play_group(queues, lines_[groups_[g].shape.index()], queues.slots(groups_[g].queue).first);
  }
}

void Pending::open_all(const QueueUsage& queues) {
  for (std::vector<uint32_t>& closed : closed_at_)
    for (const uint32_t g : std::exchange(closed, {})) {
      groups_[g].closed = false;
      --closed_;
      play_group(queues, lines_[groups_[g].shape.index()], queues.slots(groups_[g].queue).first);
    }
}

void Pending::share_changed(const QueueUsage& queues, QueueId queue, bool less) {
  if (less && closed_ > 0) {
    for (QueueId at = queue; at.valid(); at = queues.spec(at).parent) {
      if (at.index() >= closed_at_.size()) continue;
      for (const uint32_t g : closed_at_[at.index()]) {
        groups_[g].closed = false;
        --closed_;
        play_group(queues, lines_[groups_[g].shape.index()], queues.slots(groups_[g].queue).first);
      }
      closed_at_[at.index()].clear();
    }
  }
  if (!queues_matter(queues) || queues.slot_count() == 1) return;
  for (const ShapeId shape : active_) {
    Line& l = line(queues, shape);
    // A match between a queue of this branch and one outside of it lies above one end of the branch's range.
    for (QueueId at = queue; at.valid(); at = queues.spec(at).parent) {
      const QueueUsage::Range range = queues.slots(at);
      if (range.first == range.last) {
        play_group(queues, l, range.first);
      } else {
        play_branch(queues, l, range.first);
        play_branch(queues, l, range.last);
      }
    }
  }
}

void Pending::renumber(const QueueUsage& queues) {
  for (Line& l : lines_)
    set_up(queues, l);
  for (uint32_t g = 0; g < groups_.size(); ++g) {
    Line& l = lines_[groups_[g].shape.index()];
    l.group_at[queues.slots(groups_[g].queue).first] = g;
    play_group(queues, l, queues.slots(groups_[g].queue).first);
  }
}

void ShapeLine::add(const Pending& pending, const QueueUsage& queues, ShapeId shape) {
  heap_.push_back(shape);
  std::push_heap(heap_.begin(), heap_.end(), [&](ShapeId a, ShapeId b) { return pending.head_before(queues, b, a); });
}

std::optional<ShapeId> ShapeLine::take(const Pending& pending, const QueueUsage& queues) {
  if (heap_.empty()) return std::nullopt;
  std::pop_heap(heap_.begin(), heap_.end(), [&](ShapeId a, ShapeId b) { return pending.head_before(queues, b, a); });
  const ShapeId first = heap_.back();
  heap_.pop_back();
  return first;
}

}  // namespace stint::sched
