#include "sched/scheduler_moves.h"

#include <algorithm>

namespace stint::sched {

std::vector<TaskId> Moves::running_tasks(JobId v) const {
  std::vector<TaskId> tasks;
  for (TaskId t = s_.jobs.first_task(v); t != s_.jobs.end_task(v); t = next(t))
    if (s_.cluster.task(t).state == TaskState::kRunning) tasks.push_back(t);
  return tasks;
}

std::vector<TaskId> Moves::take_stand_ins(std::span<const TaskId> tasks) {
  std::vector<TaskId> taken;
  for (const TaskId t : tasks) {
    const RequestId request = s_.cluster.task(t).request;
    if (book_.idle_stand_ins.size() <= request.index()) book_.idle_stand_ins.resize(request.index() + size_t{1});
    std::vector<TaskId>& idle = book_.idle_stand_ins[request.index()];
    taken.push_back(idle.empty() ? s_.cluster.add_task(JobId(), request) : idle.back());
    if (!idle.empty()) idle.pop_back();
  }
  return taken;
}

void Moves::give_back_stand_ins(std::span<const TaskId> stand_ins) {
  for (const TaskId t : stand_ins) {
    if (s_.cluster.task(t).on_node()) s_.cluster.gone(t, TaskState::kPending);
    book_.idle_stand_ins[s_.cluster.task(t).request.index()].push_back(t);
  }
}

bool Moves::place_stand_ins(std::span<const TaskId> stand_ins) {
  for (const TaskId t : stand_ins) {
    const RequestId request = s_.cluster.task(t).request;
    std::optional<Place> place = pick_by_rules(s_.cluster, request, Room::kFree, s_.placer.unclaimed({}), {});
    if (!place) return false;
    s_.cluster.nominate(t, *place);
    s_.open.catch_up(s_.cluster);
  }
  return true;
}

bool Moves::take_kept_room(JobId v) {
  const auto move = std::ranges::find(book_.moves, v, &Move::job);
  if (move == book_.moves.end()) return false;
  JobRecord& r = s_.jobs[v];
  r.phase = Phase::kHeld;
  r.admitted = true;
  s_.jobs.arrive(v);
  for (size_t i = 0; i < move->tasks.size(); ++i) {
    const Place place = s_.cluster.task(move->stand_ins[i]).place;
    s_.cluster.gone(move->stand_ins[i], TaskState::kPending);
    s_.cluster.nominate(move->tasks[i], place);
    ++r.held;
  }
  s_.held.push_back(v);
  give_back_stand_ins(move->stand_ins);
  book_.moves.erase(move);
  return true;
}

void Moves::join_at_kept_room(JobId v, TaskId t) {
  const auto move = std::ranges::find(book_.moves, v, &Move::job);
  if (move == book_.moves.end()) return;
  const auto at = std::ranges::find(move->tasks, t);
  if (at == move->tasks.end()) return;
  const auto i = at - move->tasks.begin();
  const TaskId stand_in = move->stand_ins[static_cast<size_t>(i)];
  Place place = s_.cluster.task(stand_in).place;
  place.task = t;
  const bool is_free = s_.cluster.can_run_nominated(stand_in);
  give_back_stand_ins({&stand_in, 1});
  const Amounts amounts = s_.cluster.amounts(s_.cluster.task(t).request);
  add_to(move->amounts, amounts, -1);
  move->tasks.erase(at);
  move->stand_ins.erase(move->stand_ins.begin() + i);
  if (move->tasks.empty()) book_.moves.erase(move);
  if (!is_free) return s_.accounts.charge(v, amounts, -1);
  s_.cluster.run(t, place, s_.clock.now);
  s_.open.catch_up(s_.cluster);
  ++s_.jobs[v].running;
  s_.draft.decide(DecisionKind::kGrow, Reason::kConsolidation, v);
  s_.draft.add_place(place);
  s_.accounts.meter(v);
}

void Moves::drop(JobId v) {
  const auto move = std::ranges::find(book_.moves, v, &Move::job);
  if (move == book_.moves.end()) return;
  give_back_stand_ins(move->stand_ins);
  ++s_.clock.room_made;
  s_.accounts.charge(v, move->amounts, -1);
  book_.moves.erase(move);
}

void Moves::drop_to(NodeId n) {
  const auto goes_there = [&](const Move& move) {
    return std::ranges::any_of(move.stand_ins, [&](TaskId t) { return s_.cluster.task(t).place.node == n; });
  };
  for (auto move = std::ranges::find_if(book_.moves, goes_there); move != book_.moves.end();
       move = std::ranges::find_if(book_.moves, goes_there))
    drop(move->job);
}

void Moves::keep_free_room(JobId v, std::span<const TaskId> tasks) {
  Move& move = book_.moves.emplace_back(Move{
      .job = v, .tasks = {tasks.begin(), tasks.end()}, .stand_ins = take_stand_ins(tasks), .amounts = s_.jobs.amounts_of(tasks)});
  CHECK(place_stand_ins(move.stand_ins), "job {} moves and has nowhere to go", v.index());
  s_.accounts.charge(v, move.amounts, 1);
}

void Moves::keep_room(JobId v, std::span<const TaskId> tasks, std::span<const Place> new_places) {
  Move& move = book_.moves.emplace_back(
      Move{.job = v, .tasks = {tasks.begin(), tasks.end()}, .stand_ins = take_stand_ins(tasks), .amounts = {}});
  for (size_t i = 0; i < tasks.size(); ++i) {
    Place place = new_places[i];
    place.task = move.stand_ins[i];
    s_.cluster.nominate(move.stand_ins[i], place);
  }
  add_to(move.amounts, s_.jobs.amounts_of(tasks));
  s_.accounts.charge(v, move.amounts, 1);
}

}  // namespace stint::sched
