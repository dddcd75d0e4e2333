#include "sched/place/cluster.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sched {
namespace {

bool same_spot(const Place& a, const Place& b) {
  return a.node == b.node && a.gpus == b.gpus && a.milli == b.milli && a.mig_profile == b.mig_profile &&
         a.mig_start == b.mig_start;
}

}  // namespace

void Cluster::hold(const Task& task, Room room) {
  const Facts& facts = facts_[task.request.index()];
  const Place& place = task.place;
  Take take{place.gpus, place.milli, facts.cpu_milli, facts.memory_bytes};
  if (!facts.plain) {
    MigNode& mig = mig_[place.node.index()];
    if (place.mig_profile >= 0) {
      const bool begins = change_spot(mig, spot_of(place), room, 1);
      if (!begins || !mig.whole_gpus) take.gpus = 0;
    } else if (!facts.mig.empty()) {
      take_stock(mig, facts.mig, room, 1);
    }
    affinity_.count(facts.affinity, place.node, room, 1);
  }
  (room == Room::kFree ? free_ : coming_).take(place.node, take);
}

void Cluster::let_go(const Task& task, Room room) {
  const Facts& facts = facts_[task.request.index()];
  const Place& place = task.place;
  Take take{place.gpus, place.milli, facts.cpu_milli, facts.memory_bytes};
  if (!facts.plain) {
    MigNode& mig = mig_[place.node.index()];
    if (place.mig_profile >= 0) {
      const bool ceases = change_spot(mig, spot_of(place), room, -1);
      if (!ceases || !mig.whole_gpus) take.gpus = 0;
    } else if (!facts.mig.empty()) {
      take_stock(mig, facts.mig, room, -1);
    }
    affinity_.count(facts.affinity, place.node, room, -1);
  }
  (room == Room::kFree ? free_ : coming_).give_back(place.node, take);
}

/// From what one record holds to what the other does, in the tables; neither is written.
void Cluster::exchange(const Task& from, const Task& to) {
  const bool stays = same_spot(from.place, to.place);
  for (const Room room : {Room::kFree, Room::kComing}) {
    const bool had = from.holds(room);
    const bool has = to.holds(room);
    if (had && has && stays) continue;
    if (had) let_go(from, room);
    if (has) hold(to, room);
  }
}

void Cluster::move(TaskId t, TaskState state, const Place& place, Instant started) {
  Task& task = tasks_[t.index()];
  if (open_trials_ > 0) undo_.push_back({t, {}, true, task});
  Task next = task;
  next.state = state;
  next.started = started;
  next.place = next.on_node() ? place : Place{};
  if (next.on_node()) next.place.task = t;
  exchange(task, next);
  const bool relink = task.on_node() != next.on_node() || task.place.node != next.place.node;
  if (relink && task.on_node()) unlink(t);
  task.state = next.state;
  task.started = next.started;
  task.place = next.place;
  if (relink && task.on_node()) link(t);
}

void Cluster::link(TaskId t) {
  Task& task = tasks_[t.index()];
  TaskId& first = first_on_[task.place.node.index()];
  task.before = TaskId();
  task.after = first;
  if (first.valid()) tasks_[first.index()].before = t;
  first = t;
}

void Cluster::unlink(TaskId t) {
  Task& task = tasks_[t.index()];
  (task.before.valid() ? tasks_[task.before.index()].after : first_on_[task.place.node.index()]) = task.after;
  if (task.after.valid()) tasks_[task.after.index()].before = task.before;
  task.before = task.after = TaskId();
}

void Cluster::run(TaskId t, const Place& place, Instant now) {
  const TaskState state = task(t).state;
  CHECK(state == TaskState::kPending || state == TaskState::kNominated, "task {} runs from state {}", t.index(),
        static_cast<int>(state));
  move(t, TaskState::kRunning, place, now);
}

void Cluster::nominate(TaskId t, const Place& place) {
  const TaskState state = task(t).state;
  CHECK(state == TaskState::kPending || state == TaskState::kNominated, "task {} is nominated from state {}", t.index(),
        static_cast<int>(state));
  move(t, TaskState::kNominated, place, task(t).started);
}

void Cluster::leave(TaskId t) {
  CHECK(task(t).state == TaskState::kRunning, "task {} leaves from state {}", t.index(), static_cast<int>(task(t).state));
  move(t, TaskState::kReleasing, task(t).place, task(t).started);
}

void Cluster::gone(TaskId t, TaskState then) {
  CHECK(then == TaskState::kPending || then == TaskState::kFailed || then == TaskState::kDone, "task {} gone to state {}",
        t.index(), static_cast<int>(then));
  move(t, then, Place{}, task(t).started);
}

void Cluster::set_usable(NodeId n, bool usable) {
  if (coming_[n].usable == usable) return;
  if (open_trials_ > 0) undo_.push_back({TaskId(), n, !usable, {}});
  free_.set_usable(n, usable);
  coming_.set_usable(n, usable);
}

// ---- trials ---------------------------------------------------------------------------------------------------------

Cluster::Trial Cluster::open_trial() {
  ++open_trials_;
  return Trial{undo_.size()};
}

void Cluster::undo(Trial trial) {
  CHECK(open_trials_ > 0 && static_cast<size_t>(trial) <= undo_.size(), "a trial that is not open is undone");
  while (undo_.size() > static_cast<size_t>(trial)) {
    const Undo& last = undo_.back();
    if (last.task.valid()) {
      take_back(last.task, last.old);
    } else {
      free_.set_usable(last.node, last.usable);
      coming_.set_usable(last.node, last.usable);
    }
    undo_.pop_back();
  }
  --open_trials_;
}

/// Back to `old`, which is how the task was before its last change: its neighbours then are its neighbours again.
void Cluster::take_back(TaskId t, const Task& old) {
  Task& task = tasks_[t.index()];
  exchange(task, old);
  const bool relink = task.on_node() != old.on_node() || task.place.node != old.place.node;
  if (relink && task.on_node()) unlink(t);
  const TaskId before = relink ? old.before : task.before;
  const TaskId after = relink ? old.after : task.after;
  task = old;
  task.before = before;
  task.after = after;
  if (!relink || !task.on_node()) return;
  (before.valid() ? tasks_[before.index()].after : first_on_[task.place.node.index()]) = t;
  if (after.valid()) tasks_[after.index()].before = t;
}

void Cluster::keep(Trial trial) {
  CHECK(open_trials_ > 0 && static_cast<size_t>(trial) <= undo_.size(), "a trial that is not open is kept");
  if (--open_trials_ == 0) undo_.clear();
}

bool Cluster::same_state(const Cluster& other) const {
  return std::ranges::equal(free_.all(), other.free_.all()) && std::ranges::equal(coming_.all(), other.coming_.all()) &&
         tasks_ == other.tasks_ && first_on_ == other.first_on_ && mig_ == other.mig_ && affinity_ == other.affinity_;
}

}  // namespace stint::sched
