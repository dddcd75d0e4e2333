#include "sched/search/victims.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "sched/search/allocate.h"
#include "sched/search/job_order.h"

namespace stint::sched {
namespace {

/// What came of stopping some chunks in a trial.
struct Outcome {
  std::vector<VictimChunk> victims;
  std::vector<TaskId> moved;
  std::vector<size_t> used;  // chunks that do not just stay, ascending
};

/// Whole GPUs of one node are as good as each other; a shared GPU and a MIG instance are separate places.
bool stays(const Place& before, const Place& after) {
  return before.node == after.node && (before.milli == 0 || before.gpus == after.gpus);
}

class RoomSearch {
 public:
  RoomSearch(State& state, JobId job, VictimLine& line, const RoomRules& rules)
      : state_(state), job_(job), line_(line), rules_(rules), tasks_(state.next_tasks(job)) {}

  std::optional<RoomPlan> run() {
    if (tasks_.empty()) return std::nullopt;
    std::optional<Outcome> found;
    std::vector<size_t> used;
    for (size_t k = 1; k <= tasks_.size(); ++k) {
      found = solve(k, used);
      if (!found) break;
      used = found->used;
    }
    if (!found) found = solve_with_all();
    if (!found) return std::nullopt;
    return carry_out(*found);
  }

 private:
  std::optional<Outcome> solve(size_t k, const std::vector<size_t>& used);
  std::optional<Outcome> solve_with_all();
  std::optional<Outcome> attempt(size_t k, const std::vector<size_t>& chunks);
  const VictimChunk* chunk_at(size_t i) { return i < rules_.most_chunks ? line_.at(i) : nullptr; }
  bool place_again(const VictimChunk& chunk);
  std::vector<size_t> close(std::vector<size_t> chunks) const;
  bool victims_come_back(const Outcome& outcome);
  bool too_small(size_t k, NodeId node, const std::vector<size_t>& chunks) const;
  std::optional<RoomPlan> carry_out(const Outcome& outcome);

  State& state_;
  JobId job_;
  VictimLine& line_;
  const RoomRules& rules_;
  std::vector<TaskId> tasks_;
  std::vector<VictimChunk> seen_;  // those handed out by line_ so far
  size_t attempts_ = 0;
};

/// With a job's last chunk all its other chunks go.
std::vector<size_t> RoomSearch::close(std::vector<size_t> chunks) const {
  const size_t given = chunks.size();
  for (size_t i = 0; i < given; ++i) {
    const VictimChunk& chunk = seen_[chunks[i]];
    if (!chunk.last) continue;
    for (size_t other = 0; other < seen_.size(); ++other)
      if (seen_[other].job == chunk.job) chunks.push_back(other);
  }
  std::sort(chunks.begin(), chunks.end());
  chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
  return chunks;
}

std::optional<Outcome> RoomSearch::solve(size_t k, const std::vector<size_t>& used) {
  const std::vector<size_t> recorded = close(used);  // one that only moved until now may have to leave
  if (auto found = attempt(k, recorded)) return found;
  for (size_t newest = 0;; ++newest) {
    if (newest == seen_.size()) {
      const VictimChunk* next = chunk_at(newest);
      if (next == nullptr) return std::nullopt;
      seen_.push_back(*next);
    }
    if (attempts_ >= rules_.most_attempts) return std::nullopt;
    std::vector<NodeId> nodes;
    for (const TaskId t : seen_[newest].tasks)
      nodes.push_back(state_.cluster().task(t).place.node);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    for (const NodeId node : nodes) {
      std::vector<size_t> chunks = recorded;
      for (size_t i = 0; i <= newest; ++i) {
        const std::vector<TaskId>& tasks = seen_[i].tasks;
        if (std::any_of(tasks.begin(), tasks.end(), [&](TaskId t) { return state_.cluster().task(t).place.node == node; }))
          chunks.push_back(i);
      }
      chunks = close(std::move(chunks));
      if (chunks == recorded || too_small(k, node, chunks)) continue;
      if (auto found = attempt(k, chunks)) return found;
    }
  }
}

/// The last resort: everything that may go at once. Who fits afterwards is placed again.
std::optional<Outcome> RoomSearch::solve_with_all() {
  std::vector<size_t> chunks;
  std::vector<VictimChunk> together;
  const Amounts need = state_.amounts(tasks_);
  for (size_t i = 0; chunk_at(i) != nullptr; ++i) {
    if (i == seen_.size()) seen_.push_back(*line_.at(i));
    together.push_back(seen_[i]);
    if (!rules_.allowed || rules_.allowed(state_, job_, need, together))
      chunks.push_back(i);
    else
      together.pop_back();
  }
  if (chunks.size() < 2) return std::nullopt;
  return attempt(tasks_.size(), close(std::move(chunks)));
}

bool RoomSearch::place_again(const VictimChunk& chunk) {
  for (const TaskId t : chunk.tasks)
    state_.gone(t, TaskState::kPending);
  return state_.place(chunk.tasks, Room::kComing);
}

std::optional<Outcome> RoomSearch::attempt(size_t k, const std::vector<size_t>& chunks) {
  ++attempts_;
  Outcome out;
  {
    Transaction trial(state_);
    std::vector<std::vector<Place>> before;
    for (const size_t i : chunks) {
      before.emplace_back();
      for (const TaskId t : seen_[i].tasks) {
        before.back().push_back(state_.cluster().task(t).place);
        state_.stop(t);
      }
    }
    if (!state_.place(std::span(tasks_).first(k), Room::kComing)) return std::nullopt;
    std::vector<JobId> stopped;
    for (size_t c = chunks.size(); c-- > 0;) {
      const VictimChunk& chunk = seen_[chunks[c]];
      const bool all_gone = std::find(stopped.begin(), stopped.end(), chunk.job) != stopped.end();
      if (!all_gone && place_again(chunk)) {
        const size_t moved = out.moved.size();
        for (size_t i = 0; i < chunk.tasks.size(); ++i)
          if (!stays(before[c][i], state_.cluster().task(chunk.tasks[i]).place)) out.moved.push_back(chunk.tasks[i]);
        if (out.moved.size() > moved) out.used.push_back(chunks[c]);
        continue;
      }
      if (rules_.everybody_placed) return std::nullopt;
      if (chunk.last) stopped.push_back(chunk.job);
      out.victims.push_back(chunk);
      out.used.push_back(chunks[c]);
    }
    if (rules_.in_turn && k == tasks_.size() && victims_come_back(out)) return std::nullopt;
  }
  std::reverse(out.victims.begin(), out.victims.end());
  std::sort(out.used.begin(), out.used.end());
  if (rules_.allowed && !rules_.allowed(state_, job_, state_.amounts(std::span(tasks_).first(k)), out.victims))
    return std::nullopt;
  return out;
}

/// Within the trial: with everybody who was stopped waiting again, would a victim get room before the job does, or the job
/// and those ahead of it nothing?
bool RoomSearch::victims_come_back(const Outcome& outcome) {
  std::vector<JobId> ours(rules_.ahead.begin(), rules_.ahead.end());
  ours.push_back(job_);
  for (const TaskId t : tasks_)
    state_.gone(t, TaskState::kPending);
  std::vector<JobId> waiting = ours;
  for (const VictimChunk& victim : outcome.victims) {
    waiting.push_back(victim.job);
    for (const TaskId t : victim.tasks)
      if (state_.cluster().task(t).on_node()) state_.gone(t, TaskState::kPending);
  }
  const size_t losers = waiting.size();
  for (const TaskId t : outcome.moved) {
    waiting.push_back(state_.cluster().task(t).job);
    state_.gone(t, TaskState::kPending);
  }
  const std::vector<JobId> lost(waiting.begin() + static_cast<ptrdiff_t>(ours.size()),
                                waiting.begin() + static_cast<ptrdiff_t>(losers));
  std::sort(waiting.begin(), waiting.end());
  waiting.erase(std::unique(waiting.begin(), waiting.end()), waiting.end());
  const auto among = [](const std::vector<JobId>& jobs, JobId j) { return std::find(jobs.begin(), jobs.end(), j) != jobs.end(); };
  bool gained = false;
  WaitingJobs line(state_, std::span<const JobId>(waiting));
  while (const std::optional<JobId> next = line.take()) {
    if (allocate_job(state_, *next) == Placed::kNo) continue;
    if (*next == job_) return false;
    if (among(lost, *next)) return true;
    gained = gained || among(ours, *next);
    line.put_back(*next);
  }
  return !gained;
}

/// Even with the chunks gone the node has fewer GPUs free than any of the tasks asks for. False where that says nothing: MIG
/// and GPU memory are counted otherwise, and where limits stand in the way room does not help.
bool RoomSearch::too_small(size_t k, NodeId node, const std::vector<size_t>& chunks) const {
  const Cluster& cluster = state_.cluster();
  const JobSpec& spec = state_.job(job_).spec;
  const std::span<const TaskId> tasks = std::span(tasks_).first(k);
  if (!state_.queues().within_limits(spec.queue, state_.amounts(tasks), spec.preemptible)) return false;
  int64_t least = INT64_MAX;
  for (const TaskId t : tasks) {
    const Request& request = cluster.request(cluster.task(t).request);
    if (!cluster.is_plain(cluster.task(t).request) || request.gpu_memory.count() > 0) return false;
    least = std::min(least, int64_t{request.gpus} * kMilli + request.milli);
  }
  int64_t free = cluster.coming()[node].milli_free;
  for (const size_t i : chunks)
    for (const TaskId t : seen_[i].tasks) {
      const Place& place = cluster.task(t).place;
      if (place.node == node) free += place.milli > 0 ? place.milli : int64_t{std::popcount(place.gpus)} * kMilli;
    }
  return free < least;
}

/// Does it for good, with those who stay never touched.
std::optional<RoomPlan> RoomSearch::carry_out(const Outcome& outcome) {
  Transaction deed(state_);
  RoomPlan plan;
  plan.job = job_;
  plan.placed = tasks_;
  plan.moved = outcome.moved;
  for (const VictimChunk& chunk : outcome.victims)
    plan.victims.insert(plan.victims.end(), chunk.tasks.begin(), chunk.tasks.end());
  for (const TaskId t : plan.victims)
    state_.stop(t);
  for (const TaskId t : plan.moved)
    state_.stop(t);
  if (!state_.place(tasks_, Room::kComing)) return std::nullopt;
  for (size_t i = plan.moved.size(); i-- > 0;) {
    const TaskId t = plan.moved[i];
    state_.gone(t, TaskState::kPending);
    if (!state_.place({&t, 1}, Room::kComing)) return std::nullopt;
  }
  for (const TaskId t : plan.moved)
    plan.new_places.push_back(state_.cluster().task(t).place);
  for (const TaskId t : plan.placed)
    plan.job_places.push_back(state_.cluster().task(t).place);
  deed.keep();
  return plan;
}

}  // namespace

bool VictimLine::Candidate::operator<(const Candidate& o) const {
  if (priority != o.priority) return priority > o.priority;
  if (lost_work != o.lost_work) return lost_work > o.lost_work;
  if (surplus != o.surplus) return o.surplus;
  if (started != o.started) return started < o.started;
  return job < o.job;
}

VictimLine::VictimLine(State& state, std::span<const QueueId> queues, const Wanted& wanted)
    : state_(state), by_queue_(state.queues().size()) {
  for (const QueueId q : queues)
    for (const JobId j : state.preemptible_in(q)) {
      Candidate candidate{j, state.job(j).spec.priority, 0, false, state.job(j).started, {}};
      const std::span<const Task> tasks = state.tasks(j);
      for (size_t i = 0; i < tasks.size(); ++i)
        if (tasks[i].active()) candidate.left.push_back(TaskId(state.job(j).first.index() + static_cast<uint32_t>(i)));
      if (candidate.left.empty() || !wanted(j)) continue;
      std::stable_sort(candidate.left.begin(), candidate.left.end(),
                       [&](TaskId a, TaskId b) { return state.cluster().task(a).priority > state.cluster().task(b).priority; });
      insert(by_queue_[state.rules().queues_first ? q.index() : 0], std::move(candidate));
    }
}

void VictimLine::insert(std::vector<Candidate>& line, Candidate candidate) {
  const VictimChunk next = peek(candidate);
  candidate.surplus = !next.last;
  if (state_.rules().victims == VictimOrder::kLeastLostWork) candidate.lost_work = state_.lost_work(next.tasks);
  line.insert(std::upper_bound(line.begin(), line.end(), candidate), std::move(candidate));
}

/// The task that can go alone: the last one whose leaf keeps its minimum without it. Otherwise all that is left.
VictimChunk VictimLine::peek(const Candidate& candidate) const {
  const JobSpec& spec = state_.job(candidate.job).spec;
  const Gang* gang = state_.gang(candidate.job);
  for (size_t i = candidate.left.size(); i-- > 0;) {
    int32_t minimum = spec.min_tasks;
    const int32_t leaf = gang != nullptr && !gang->groups.empty() ? state_.cluster().task(candidate.left[i]).group : -1;
    if (leaf >= 0) minimum = gang->groups[static_cast<size_t>(leaf)].min_tasks;
    const auto same_leaf = [&](TaskId t) { return leaf < 0 || state_.cluster().task(t).group == leaf; };
    if (std::count_if(candidate.left.begin(), candidate.left.end(), same_leaf) > minimum)
      return {candidate.job, {candidate.left[i]}, candidate.left.size() == 1};
  }
  return {candidate.job, candidate.left, true};
}

QueueId VictimLine::last_below(QueueId q) const {
  if (q.valid() && !by_queue_[q.index()].empty()) return q;
  QueueId best;
  QueueTree::Next best_next;
  for (const QueueId child : state_.queues().children(q)) {
    const QueueId leaf = last_below(child);
    if (!leaf.valid()) continue;
    Amounts take;
    add_amounts(take, state_.amounts(peek(by_queue_[leaf.index()].back()).tasks), -1);
    const QueueTree::Next next{child, take, true};
    if (best.valid() && state_.queues().compare(next, best_next) < 0) continue;
    best = leaf;
    best_next = next;
  }
  return best;
}

bool VictimLine::hand_out() {
  QueueTree& queues = state_.queues();
  QueueId q(0);
  if (state_.rules().queues_first) {
    const size_t mark = queues.mark();
    for (const VictimChunk& chunk : chunks_)
      queues.charge(state_.job(chunk.job).spec.queue, state_.amounts(chunk.tasks), true, -1);
    q = last_below(QueueId());
    queues.take_back(mark);
  } else if (by_queue_.empty() || by_queue_[0].empty()) {
    return false;
  }
  if (!q.valid()) return false;
  std::vector<Candidate>& line = by_queue_[q.index()];
  Candidate candidate = std::move(line.back());
  line.pop_back();
  VictimChunk chunk = peek(candidate);
  std::erase_if(candidate.left,
                [&](TaskId t) { return std::find(chunk.tasks.begin(), chunk.tasks.end(), t) != chunk.tasks.end(); });
  chunks_.push_back(std::move(chunk));
  if (candidate.left.empty()) return true;
  insert(line, std::move(candidate));
  return true;
}

const VictimChunk* VictimLine::at(size_t i) {
  while (i >= chunks_.size())
    if (!hand_out()) return nullptr;
  return &chunks_[i];
}

std::optional<RoomPlan> make_room(State& state, JobId job, VictimLine& line, const RoomRules& rules) {
  return RoomSearch(state, job, line, rules).run();
}

}  // namespace stint::sched
