// What the world does with decisions: tasks take places, leave them, and jobs end.
#include <algorithm>

#include "base/check.h"
#include "model/mig.h"
#include "sim/world.h"

namespace stint::sim {

void World::carry_out(std::span<const sched::Decision> decisions) {
  result_.decisions += static_cast<int64_t>(decisions.size());
  if (!decisions.empty()) {
    mix(static_cast<uint64_t>(now_.ns()));
    idle_steps_ = 0;
  }
  for (const sched::Decision& decision : decisions) {
    const sched::JobId id = decision.job;
    CHECK(id.index() < jobs_.size(), "a decision for job {} of {}", id.index(), jobs_.size());
    mix(static_cast<uint64_t>(decision.kind) << 40 | static_cast<uint64_t>(decision.reason) << 32 | id.index());
    for (const sched::Place& p : decision.places) {
      mix(uint64_t{p.task.index()} << 32 | p.node.index());
      mix(p.gpus);
      mix(static_cast<uint64_t>(p.milli) << 32 | static_cast<uint64_t>(static_cast<uint16_t>(p.mig_start)) << 16 |
          static_cast<uint16_t>(p.mig_profile));
    }
    Job& job = jobs_[id.index()];
    switch (decision.kind) {
      case sched::DecisionKind::kStart: {
        CHECK(job.state == State::kWaiting, "job {} is started but does not wait", id.index());
        JobOutcome& outcome = result_.jobs[id.index()];
        if (outcome.starts++ == 0) outcome.first_start = now_;
        ++result_.starts;
        take_places(id, decision.places);
        set_state(id, State::kRunning);
        job.progress.start(now_, staying(job));
        break;
      }
      case sched::DecisionKind::kGrow:
        CHECK(job.state == State::kRunning || job.state == State::kIncomplete, "job {} grows but does not run", id.index());
        take_places(id, decision.places);
        if (job.state == State::kRunning) {
          job.progress.resize(now_, staying(job));
        } else if (staying(job) >= job.min_tasks) {
          set_state(id, State::kRunning);
          job.progress.start(now_, staying(job));
        }
        break;
      case sched::DecisionKind::kEvict: evict(decision); break;
      case sched::DecisionKind::kReject:
        CHECK(job.state == State::kWaiting, "job {} is rejected but does not wait", id.index());
        end(id, decision.reason == sched::Reason::kDependencyFailed ? JobEnding::kDependencyFailed : JobEnding::kNeverFits);
        break;
      case sched::DecisionKind::kSkip:
        CHECK(job.state == State::kWaiting, "job {} is skipped but does not wait", id.index());
        end(id, JobEnding::kMadeAlready);
        break;
    }
    replan(id);
  }
}

void World::take_places(sched::JobId id, std::span<const sched::Place> places) {
  Job& job = jobs_[id.index()];
  for (const sched::Place& place : places) {
    Held held{place, gpu_milli_of_place(place), 0, now_, sched::kNever};
    const SimNode& node = workload_->nodes[place.node.index()];
    const sched::Request& request = workload_->requests[workload_->jobs[id.index()].spec.request.index()];
    held.weight = node.node.gpus > 0 ? held.gpu_milli : request.cpu_milli;
    job.held.push_back(held);
    nodes_[place.node.index()].jobs.push_back(id);
    held_milli_ += held.gpu_milli;
    nodes_[place.node.index()].held_milli += held.gpu_milli;
    gauge_.change(place.node, place.gpus, place.milli, -1);
    meter_.hold(place.node, id, held.weight, now_);
  }
}

int64_t World::gpu_milli_of_place(const sched::Place& place) const {
  if (place.mig_profile >= 0) {
    const MigGeometry* geometry = find_mig_geometry(workload_->nodes[place.node.index()].node.gpu_model);
    if (geometry == nullptr) return 0;
    const MigProfile& profile = geometry->profiles[static_cast<size_t>(place.mig_profile)];
    return int64_t{sched::kMilli} * profile.compute_slices / geometry->compute_slices;
  }
  return place.milli > 0 ? place.milli : int64_t{__builtin_popcountll(place.gpus)} * sched::kMilli;
}

int32_t World::staying(const Job& job) const {
  return static_cast<int32_t>(std::ranges::count_if(job.held, [](const Held& h) { return h.leaves == sched::kNever; }));
}

void World::evict(const sched::Decision& decision) {
  const sched::JobId id = decision.job;
  Job& job = jobs_[id.index()];
  const sched::CheckpointBehaviour& checkpoint = workload_->jobs[id.index()].spec.checkpoint;
  const bool ends = decision.reason == sched::Reason::kTimeLimit || decision.reason == sched::Reason::kHopelessTrial ||
                    decision.reason == sched::Reason::kCancelled;
  const auto leaving_now = static_cast<int32_t>(decision.places.size());
  const bool whole = staying(job) - leaving_now < job.min_tasks;
  Instant leaves = now_ + options_.leaving;
  if (whole) {
    job.saves = !ends && job.state == State::kRunning && options_.save_when_leaving && checkpoint.interval != sched::kUnlimited &&
                checkpoint.save <= options_.grace;
    if (job.saves) {
      job.progress.stop(now_);
      leaves = leaves + checkpoint.save;
    }
    if (ends)
      job.leaves_as = decision.reason == sched::Reason::kTimeLimit       ? JobEnding::kTimeLimit
                      : decision.reason == sched::Reason::kHopelessTrial ? JobEnding::kStopped
                                                                         : JobEnding::kCancelled;
    set_state(id, State::kLeaving);
    ++result_.jobs[id.index()].evictions;
    ++result_.evictions;
  }
  for (const sched::Place& place : decision.places) {
    const auto at = std::ranges::find(job.held, place.task, [](const Held& h) { return h.place.task; });
    CHECK(at != job.held.end() && at->leaves == sched::kNever, "task {} of job {} is told to leave but is not there",
          place.task.index(), id.index());
    at->leaves = leaves;
    queue_.push(leaves, static_cast<uint8_t>(Kind::kTaskLeaves), {id.index(), place.task.index()});
  }
  if (!whole) job.progress.resize(now_, staying(job));
}

void World::release(sched::JobId id, size_t at) {
  Job& job = jobs_[id.index()];
  const Held held = job.held[at];
  job.held.erase(job.held.begin() + static_cast<std::ptrdiff_t>(at));
  NodeState& node = nodes_[held.place.node.index()];
  node.jobs.erase(std::ranges::find(node.jobs, id));
  held_milli_ -= held.gpu_milli;
  node.held_milli -= held.gpu_milli;
  gauge_.change(held.place.node, held.place.gpus, held.place.milli, 1);
  meter_.hold(held.place.node, id, -held.weight, now_);
  const double hours = (now_ - held.began).to_hours() * static_cast<double>(held.gpu_milli) / sched::kMilli;
  result_.jobs[id.index()].gpu_hours += hours;
  if (held.began == now_) return;
  if (result_.occupancy.size() < options_.occupancies)
    result_.occupancy.push_back({id, held.place.node, held.place.gpus, held.place.milli, {held.began, now_}});
  else
    ++result_.occupancies_left_out;
}

void World::release_all(sched::JobId id) {
  Job& job = jobs_[id.index()];
  for (size_t i = job.held.size(); i-- > 0;)
    release(id, i);
}

// The last task has left: the job waits again or has ended.
void World::left(sched::JobId id) {
  Job& job = jobs_[id.index()];
  if (job.progress.phase() != JobProgress::Phase::kIdle) job.progress.stop(now_);
  if (job.saves)
    job.progress.save();
  else
    job.progress.fall_back();
  job.saves = false;
  if (job.leaves_as == JobEnding::kWaiting)
    back_to_waiting(id);
  else
    end(id, job.leaves_as);
  replan(id);
}

void World::back_to_waiting(sched::JobId id) {
  if (jobs_[id.index()].cancelled)
    end(id, JobEnding::kCancelled);
  else
    set_state(id, State::kWaiting);
}

void World::end(sched::JobId id, JobEnding ending) {
  Job& job = jobs_[id.index()];
  set_state(id, State::kEnded);
  ++ended_;
  JobOutcome& outcome = result_.jobs[id.index()];
  outcome.ending = ending;
  outcome.ended = now_;
  if (ending != JobEnding::kSucceeded) job.progress.throw_away();
  mix(id.index());
  mix(static_cast<uint64_t>(now_.ns()));
}

void World::set_state(sched::JobId id, State state) {
  Job& job = jobs_[id.index()];
  const auto runs = [](State s) { return s == State::kRunning || s == State::kIncomplete || s == State::kLeaving; };
  waiting_ += (state == State::kWaiting ? 1 : 0) - (job.state == State::kWaiting ? 1 : 0);
  running_ += (runs(state) ? 1 : 0) - (runs(job.state) ? 1 : 0);
  job.state = state;
}

void World::replan(sched::JobId id) {
  Job& job = jobs_[id.index()];
  ++job.generation;
  if (const Instant next = job.progress.next_change(); next != sched::kNever)
    queue_.push(next, static_cast<uint8_t>(Kind::kPhaseEnds), {id.index(), job.generation});
}

}  // namespace stint::sim
