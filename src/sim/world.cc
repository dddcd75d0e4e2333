#include "sim/world.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace stint::sim {
namespace {

// Steps at one instant in which nothing happened: a scheduler that wants to be woken at once, for ever, is stopped there.
constexpr int32_t kMaxIdleSteps = 1'000;

int32_t min_tasks_of(const Workload& workload, const SimJob& job) {
  if (!job.spec.gang.valid()) return job.spec.min_tasks;
  int32_t sum = 0;
  for (const sched::GangGroup& group : workload.gangs[job.spec.gang.index()].groups)
    sum += group.min_tasks;
  return std::max(job.spec.min_tasks, sum);
}

Instant first_instant(const Workload& workload, const ReplayOptions& options) {
  Instant first = submissions_of(workload).begin;
  if (!options.marks.empty()) first = std::min(first, options.marks.front());
  for (const Outage& outage : workload.outages)
    first = std::min(first, outage.notice);
  return first;
}

}  // namespace

World::World(const Workload& workload, const ReplayOptions& options)
    : workload_(&workload),
      options_(options),
      begin_(first_instant(workload, options)),
      until_(options.until == sched::kNever ? submissions_of(workload).end + options.patience : options.until),
      now_(begin_),
      nodes_(workload.nodes.size()),
      meter_(workload),
      gauge_(workload),
      timeline_(std::max<size_t>(options.timeline_points, 2)) {
  jobs_.reserve(workload.jobs.size());
  for (const SimJob& job : workload.jobs) {
    Job& added = jobs_.emplace_back(job);
    added.min_tasks = min_tasks_of(workload, job);
    added.gpu_milli = gpu_milli_of(workload, job);
    if (job.spec.study.valid() && !job.losses_micro.empty()) {
      const sched::Asha asha(workload.studies[job.spec.study.index()].rules);
      std::vector<int64_t> resources;
      for (int rung = 0; rung < std::min(asha.rungs(), static_cast<int>(job.losses_micro.size())); ++rung)
        resources.push_back(asha.resource_at(rung));
      added.progress.set_rungs(resources, workload.studies[job.spec.study.index()].rules.most);
    }
    if (job.cancelled != sched::kNever)
      queue_.push(std::max(job.cancelled, job.spec.submitted), static_cast<uint8_t>(Kind::kCancel),
                  {static_cast<uint32_t>(jobs_.size() - 1), 0});
  }
  result_.jobs.resize(jobs_.size());
  for (JobOutcome& outcome : result_.jobs)
    outcome.cost = Money::nanos(0, currency_of(workload));
  schedule_nodes();
}

void World::schedule_nodes() {
  meter_.begin(begin_);
  // Where jobs wait for cheap hours the present price decides on machines, too.
  const bool prices_matter =
      has_budgets(*workload_) || std::ranges::any_of(workload_->jobs, [](const SimJob& job) { return job.spec.deferrable; });
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    const SimNode& node = workload_->nodes[n];
    if (prices_matter && node.prices >= 0) schedule_price(n, 0);
    if (node.present_from > begin_) {
      nodes_[n].away = 1;
      // The scheduler takes a node it is given for present: it hears at once that this one is not.
      sched::Event absent;
      absent.kind = sched::EventKind::kNodeDown;
      absent.node = NodeId(n);
      events_.push_back(absent);
      queue_.push(node.present_from, static_cast<uint8_t>(Kind::kNodeComes), {n, 0});
    } else {
      gauge_.set_up(NodeId(n), true);
      meter_.set_paid(NodeId(n), true, begin_);
    }
    if (node.present_until < sched::kNever) queue_.push(node.present_until, static_cast<uint8_t>(Kind::kNodeGoes), {n, 0});
  }
  set_up_pools();
  for (uint32_t i = 0; i < workload_->outages.size(); ++i) {
    const Outage& outage = workload_->outages[i];
    if (outage.notice < outage.down) queue_.push(outage.notice, static_cast<uint8_t>(Kind::kNodeNotice), {i, 1});
    queue_.push(outage.down, static_cast<uint8_t>(Kind::kNodeGoes), {i, 1});
    if (outage.up < sched::kNever) queue_.push(outage.up, static_cast<uint8_t>(Kind::kNodeComes), {i, 1});
  }
}

/// The scheduler, which knows the node's own rate, hears of each point of its series.
void World::schedule_price(uint32_t node, size_t point) {
  const auto& points = workload_->prices[static_cast<size_t>(workload_->nodes[node].prices)].points;
  while (point + 1 < points.size() && points[point + 1].from <= begin_)
    ++point;
  if (point < points.size())
    queue_.push(std::max(points[point].from, begin_), static_cast<uint8_t>(Kind::kPrice), {node, static_cast<uint32_t>(point)});
}

bool World::advance(Instant wakeup) {
  if (began_) events_.clear();
  const size_t all = jobs_.size();
  for (;;) {
    const bool marks_left = next_mark_ < options_.marks.size();
    if (static_cast<size_t>(ended_) == all && !marks_left) return false;
    Instant next = std::min(wakeup, queue_.empty() ? sched::kNever : queue_.top().at);
    if (next_submission_ < all) next = std::min(next, workload_->jobs[next_submission_].spec.submitted);
    if (marks_left) next = std::min(next, options_.marks[next_mark_]);
    if (!began_) next = begin_;
    if (next == sched::kNever) return false;  // nothing will ever happen again
    if (next > until_) {
      account_until(until_);
      return false;
    }
    next = std::max(next, now_);
    idle_steps_ = began_ && next == now_ ? idle_steps_ + 1 : 0;
    if (idle_steps_ > kMaxIdleSteps) return false;
    account_until(next);
    began_ = true;
    while (next_mark_ < options_.marks.size() && options_.marks[next_mark_] <= now_)
      pass_mark();
    while (!queue_.empty() && queue_.top().at <= now_) {
      const auto entry = queue_.pop();
      handle(static_cast<Kind>(entry.kind), entry.payload);
    }
    submit_due();
    if (!events_.empty() || wakeup <= now_) break;
  }
  std::ranges::stable_sort(events_, {}, [](const sched::Event& e) { return std::tuple(e.kind, e.job, e.node, e.task); });
  ++result_.steps;
  result_.events += static_cast<int64_t>(events_.size());
  return true;
}

void World::handle(Kind kind, const Payload& payload) {
  const bool outage = payload.generation == 1;
  const NodeId node = kind == Kind::kNodeComes || kind == Kind::kNodeNotice || kind == Kind::kNodeGoes
                          ? (outage ? workload_->outages[payload.index].node : NodeId(payload.index))
                          : NodeId();
  switch (kind) {
    case Kind::kNodeComes: return node_comes(node, outage);
    case Kind::kNodeGoes: return node_goes(node);
    case Kind::kPhaseEnds:
      if (jobs_[payload.index].generation == payload.generation) phase_ends(sched::JobId(payload.index));
      return;
    case Kind::kTaskLeaves: return task_leaves(sched::JobId(payload.index), sched::TaskId(payload.generation));
    case Kind::kCancel: return cancel(sched::JobId(payload.index));
    case Kind::kPrice: {
      const SimNode& priced = workload_->nodes[payload.index];
      const RatePoint& price = workload_->prices[static_cast<size_t>(priced.prices)].points[payload.generation];
      sched::Event event;
      event.kind = sched::EventKind::kPrice;
      event.node = NodeId(payload.index);
      event.price = gpu_rate_of(priced.node, price.rate);
      events_.push_back(event);
      return schedule_price(payload.index, payload.generation + size_t{1});
    }
    case Kind::kLook: return look_at_pools();
    case Kind::kNodeNotice: {
      if (nodes_[node.index()].away > 0) return;
      const Outage& announced = workload_->outages[payload.index];
      sched::Event event;
      const bool spot = announced.cause == OutageCause::kSpotInterruption;
      event.kind = spot ? sched::EventKind::kSpotNotice : sched::EventKind::kNodeDrain;
      event.node = node;
      event.until = announced.down;
      events_.push_back(event);
      return;
    }
  }
}

void World::submit_due() {
  for (; next_submission_ < jobs_.size(); ++next_submission_) {
    const sched::JobId id(static_cast<uint32_t>(next_submission_));
    if (workload_->jobs[next_submission_].spec.submitted > now_) return;
    sched::Event event;
    event.kind = sched::EventKind::kSubmit;
    event.job = id;
    events_.push_back(event);
    set_state(id, State::kWaiting);
  }
}

void World::node_comes(NodeId node, bool from_outage) {
  NodeState& state = nodes_[node.index()];
  if (state.power == Power::kStarting && !from_outage) state.power = Power::kOn;
  if (--state.away > 0) return;
  sched::Event event;
  event.kind = sched::EventKind::kNodeUp;
  event.node = node;
  events_.push_back(event);
  gauge_.set_up(node, true);
  meter_.set_paid(node, true, now_);
}

void World::node_goes(NodeId node) {
  const SimNode& sim_node = workload_->nodes[node.index()];
  // Its time may end while it is away and paid for all the same.
  if (!is_paid_while_off(sim_node.market) || now_ >= sim_node.present_until) meter_.set_paid(node, false, now_);
  NodeState& state = nodes_[node.index()];
  if (state.away++ > 0) return;
  sched::Event event;
  event.kind = sched::EventKind::kNodeDown;
  event.node = node;
  events_.push_back(event);
  ++result_.node_losses;
  std::vector<sched::JobId> hit = state.jobs;
  std::ranges::sort(hit);
  hit.erase(std::ranges::unique(hit).begin(), hit.end());
  for (const sched::JobId id : hit)
    lose_tasks(id, node);
  gauge_.set_up(node, false);
}

void World::lose_tasks(sched::JobId id, NodeId node) {
  Job& job = jobs_[id.index()];
  for (size_t i = job.held.size(); i-- > 0;)
    if (job.held[i].place.node == node) {
      ++result_.jobs[id.index()].lost_tasks;
      release(id, i);
    }
  if (job.progress.phase() != JobProgress::Phase::kIdle) job.progress.stop(now_);
  job.progress.fall_back();
  if (job.state == State::kLeaving) {
    job.saves = false;
    if (job.held.empty()) left(id);
  } else if (staying(job) == 0) {
    if (job.held.empty())
      back_to_waiting(id);
    else
      set_state(id, State::kLeaving);
  } else if (staying(job) >= job.min_tasks) {
    job.progress.start(now_, staying(job));
  } else {
    set_state(id, State::kIncomplete);
  }
  replan(id);
}

void World::phase_ends(sched::JobId id) {
  Job& job = jobs_[id.index()];
  sched::Event event;
  event.job = id;
  switch (job.progress.pass(now_)) {
    case JobProgress::Change::kNone: break;
    case JobProgress::Change::kSaved:
      event.kind = sched::EventKind::kCheckpoint;
      if (options_.announce_checkpoints) events_.push_back(event);
      break;
    case JobProgress::Change::kRung:
      event.kind = sched::EventKind::kMetric;
      event.rung = job.progress.rungs_reached() - 1;
      event.loss_micro = workload_->jobs[id.index()].losses_micro[static_cast<size_t>(event.rung)];
      events_.push_back(event);
      break;
    case JobProgress::Change::kFinished:
      event.kind = sched::EventKind::kFinished;
      events_.push_back(event);
      release_all(id);
      end(id, JobEnding::kSucceeded);
      break;
    case JobProgress::Change::kFailed:
      event.kind = sched::EventKind::kFailed;
      events_.push_back(event);
      release_all(id);
      if (job.cancelled)
        end(id, JobEnding::kCancelled);
      else if (job.progress.failures() > workload_->jobs[id.index()].spec.retries)
        end(id, JobEnding::kFailed);
      else if (job.state == State::kLeaving)
        left(id);
      else
        back_to_waiting(id);
      break;
  }
  replan(id);
}

void World::task_leaves(sched::JobId id, sched::TaskId task) {
  Job& job = jobs_[id.index()];
  const auto at = std::ranges::find(job.held, task, [](const Held& h) { return h.place.task; });
  // Lost with its node or ended with its job meanwhile, and perhaps started anew.
  if (at == job.held.end() || at->leaves != now_) return;
  sched::Event event;
  event.kind = sched::EventKind::kEvicted;
  event.job = id;
  event.task = task;
  event.node = at->place.node;
  events_.push_back(event);
  release(id, static_cast<size_t>(at - job.held.begin()));
  if (job.held.empty() && job.state == State::kLeaving) left(id);
}

void World::cancel(sched::JobId id) {
  Job& job = jobs_[id.index()];
  if (job.state == State::kEnded) return;
  if (job.state == State::kNotSubmitted) {  // submitted and taken back at the same instant: submitted first
    queue_.push(now_, static_cast<uint8_t>(Kind::kCancel), {id.index(), 0});
    while (next_submission_ <= id.index())
      submit_due();
    return;
  }
  sched::Event event;
  event.kind = sched::EventKind::kCancel;
  event.job = id;
  events_.push_back(event);
  job.cancelled = true;
  job.leaves_as = JobEnding::kCancelled;
  if (job.state == State::kWaiting) end(id, JobEnding::kCancelled);
}

}  // namespace stint::sim
