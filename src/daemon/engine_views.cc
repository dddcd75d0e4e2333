// What is shown of the engine's state. Values are made when they are asked for.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/engine_impl.h"
#include "report/waiting_text.h"

namespace stint {
namespace {

constexpr size_t kCommandShown = 120;

std::string one_line(const JobRequest& r) {
  std::string line = r.command.empty() ? r.script : fmt::format("{}", fmt::join(r.command, " "));
  if (const size_t end = line.find('\n'); end != std::string::npos) line.resize(end);
  return excerpt(line, kCommandShown);
}

bool is_below(std::string_view path, const FleetConfig& fleet, sched::QueueId queue) {
  for (; queue.valid(); queue = fleet.queues[queue.index()].parent)
    if (fleet.queues[queue.index()].name == path) return true;
  return false;
}

int64_t asked_milli(const JobRequest& r) {
  return int64_t{r.tasks} * (r.gpus > 0 ? int64_t{r.gpus} * sched::kMilli : r.gpu_milli);
}

std::vector<int> indexes_of(uint64_t gpus) {
  std::vector<int> indexes;
  for (int i = 0; i < sched::kMaxGpusPerNode; ++i)
    if ((gpus >> i & 1) != 0) indexes.push_back(i);
  return indexes;
}

}  // namespace

std::string_view name_of(JobState s) {
  switch (s) {
    case JobState::kOnHold: return "on-hold";
    case JobState::kWaiting: return "waiting";
    case JobState::kRunning: return "running";
    case JobState::kLeaving: return "leaving";
    case JobState::kSucceeded: return "succeeded";
    case JobState::kFailed: return "failed";
    case JobState::kCancelled: return "cancelled";
    case JobState::kTimeLimit: return "time-limit";
    case JobState::kStopped: return "stopped";
    case JobState::kSkipped: return "skipped";
    case JobState::kNeverFits: return "never-fits";
    case JobState::kDependencyFailed: return "dependency-failed";
  }
  return "unknown";
}

std::optional<JobState> parse_job_state(std::string_view text) {
  for (int s = 0; s <= static_cast<int>(JobState::kDependencyFailed); ++s)
    if (name_of(static_cast<JobState>(s)) == text) return static_cast<JobState>(s);
  return std::nullopt;
}

std::string_view name_of(NodeState s) {
  switch (s) {
    case NodeState::kUp: return "up";
    case NodeState::kDraining: return "draining";
    case NodeState::kDrained: return "drained";
    case NodeState::kDown: return "down";
  }
  return "unknown";
}

std::optional<JobView> Engine::job(int64_t id) const {
  const Impl& s = *impl_;
  if (id < 1 || id > static_cast<int64_t>(s.jobs.size())) return std::nullopt;
  const sched::JobId job_id(static_cast<uint32_t>(id - 1));
  const JobBook& job = s.jobs[job_id.index()];
  const JobRequest& r = *job.request;
  JobView view;
  view.id = id;
  view.name = !r.name.empty() ? r.name : r.command.empty() ? "script" : r.command[0];
  view.queue = s.queue_name(job.queue);
  view.client = s.client_of(job.queue);
  view.user = r.user;
  view.tags = r.tags;
  view.state = job.state;
  view.reason = job.reason;
  view.command = one_line(r);
  view.tasks = r.tasks;
  view.gpus_per_task = r.gpus;
  view.gpu_milli = asked_milli(r);
  view.priority = r.priority;
  view.after = r.after;
  view.array = job.array_first;
  view.array_index = job.array_index;
  view.array_size = r.array;
  view.submitted = job.submitted;
  view.first_started = job.first_started;
  view.started = job.started;
  view.ended = job.ended;
  if (r.deadline != sched::kNever) view.deadline = r.deadline;
  if (r.time_limit != sched::kUnlimited) view.time_limit = r.time_limit;
  view.starts = job.starts;
  view.failures = job.failures;
  for (const PlacedTask& placed : job.placed)
    view.placed.push_back({.task = placed.task,
                           .attempt = placed.attempt,
                           .node = s.nodes[placed.place.node.index()].node.node.name,
                           .gpus = indexes_of(placed.place.gpus),
                           .gpu_milli = placed.place.milli,
                           .mig_profile = placed.place.mig_profile >= 0 ? r.mig_profile : "",
                           .started = placed.started,
                           .leaving = placed.leaving});
  view.ends = job.ends;
  view.micro_gpu_hours = s.micro_gpu_hours_of(job);
  view.cost = s.cost_of(job, job_id);
  return view;
}

JobPage Engine::jobs(const JobFilter& filter, std::optional<int64_t> before, size_t limit) const {
  const Impl& s = *impl_;
  JobPage page;
  int64_t id = std::min(before.value_or(INT64_MAX), static_cast<int64_t>(s.jobs.size()) + 1);
  while (--id >= 1) {
    const JobBook& job = s.jobs[static_cast<size_t>(id - 1)];
    if (filter.state && job.state != *filter.state) continue;
    if (filter.ended && has_ended(job.state) != *filter.ended) continue;
    if (!filter.user.empty() && job.request->user != filter.user) continue;
    if (!filter.name.empty() && job.request->name != filter.name) continue;
    if (!filter.queue.empty() && !is_below(filter.queue, s.fleet, job.queue)) continue;
    if (page.jobs.size() == limit) {
      page.next = page.jobs.back().id;
      break;
    }
    page.jobs.push_back(*this->job(id));
  }
  return page;
}

std::optional<JobRequest> Engine::request_of(int64_t id) const {
  if (id < 1 || id > static_cast<int64_t>(impl_->jobs.size())) return std::nullopt;
  return *impl_->jobs[static_cast<size_t>(id - 1)].request;
}

std::vector<NodeView> Engine::nodes() const {
  const Impl& s = *impl_;
  std::vector<NodeView> views;
  for (const NodeBook& node : s.nodes) {
    NodeView& view = views.emplace_back();
    view.name = node.node.node.name;
    view.gpu_model = node.node.node.gpu_model;
    view.gpus = node.node.node.gpus;
    view.gpu_memory = node.node.node.gpu_memory;
    view.cpu_milli = node.node.node.cpu_milli;
    view.memory = node.node.node.memory;
    view.market = node.node.market;
    view.provider = node.node.provider;
    view.region = node.node.region;
    view.instance_type = node.node.instance_type;
    view.rate = node.node.rate;
    view.gpu_milli_held.assign(static_cast<size_t>(node.node.node.gpus), 0);
  }
  for (size_t j = 0; j < s.jobs.size(); ++j)
    for (const PlacedTask& placed : s.jobs[j].placed) {
      NodeView& view = views[placed.place.node.index()];
      const int64_t milli = s.gpu_milli(placed.place);
      for (const int gpu : indexes_of(placed.place.gpus))
        view.gpu_milli_held[static_cast<size_t>(gpu)] +=
            placed.place.milli > 0 || placed.place.mig_profile >= 0 ? milli : sched::kMilli;
      const auto id = static_cast<int64_t>(j) + 1;
      if (view.jobs.empty() || view.jobs.back() != id) view.jobs.push_back(id);
    }
  for (size_t n = 0; n < views.size(); ++n)
    views[n].state = s.nodes[n].down         ? NodeState::kDown
                     : !s.nodes[n].draining  ? NodeState::kUp
                     : views[n].jobs.empty() ? NodeState::kDrained
                                             : NodeState::kDraining;
  return views;
}

std::vector<QueueView> Engine::queues() const {
  const Impl& s = *impl_;
  std::vector<QueueView> views(s.fleet.queues.size());
  for (size_t q = 0; q < views.size(); ++q) {
    const sched::QueueSpec& spec = s.fleet.queues[q];
    QueueView& view = views[q];
    view.path = spec.name;
    if (spec.parent.valid()) view.parent = s.queue_name(spec.parent);
    view.deserved_gpu_milli = spec.deserved.gpu_milli;
    view.limit_gpu_milli = spec.limit.gpu_milli;
    view.cost = Money::nanos(0, s.currency());
    if (const auto budget = s.scheduler->budget_of(sched::QueueId(static_cast<uint32_t>(q)))) {
      view.budget = budget->budget;
      view.budget_spent = budget->spent;
      view.budget_runs_out = budget->runs_out_at;
      view.budget_renewed = budget->renewed_at;
    }
  }
  const auto add = [&](sched::QueueId q, const auto& change) {
    for (; q.valid(); q = s.fleet.queues[q.index()].parent)
      change(views[q.index()]);
  };
  for (uint32_t q = 0; q < views.size(); ++q)
    add(sched::QueueId(q), [&](QueueView& view) {
      view.waiting += s.queues[q].waiting;
      view.running += s.queues[q].running;
      view.cost += s.queues[q].posted;
    });
  for (uint32_t j = 0; j < s.jobs.size(); ++j)
    for (const PlacedTask& placed : s.jobs[j].placed)
      add(s.jobs[j].queue, [&](QueueView& view) {
        view.held_gpu_milli += s.gpu_milli(placed.place);
        if (!placed.ended) view.cost += s.posting_of(sched::JobId(j), placed, s.now).amount;
      });
  return views;
}

EngineView Engine::overview() const {
  const Impl& s = *impl_;
  EngineView view;
  view.now = s.now;
  view.jobs = static_cast<int64_t>(s.jobs.size());
  for (const QueueBook& queue : s.queues) {
    view.waiting += queue.waiting;
    view.running += queue.running;
  }
  for (const NodeBook& node : s.nodes)
    if (!node.down) view.gpus += node.node.node.gpus;
  Money burn = Money::nanos(0, s.currency());
  for (uint32_t j = 0; j < s.jobs.size(); ++j)
    for (PlacedTask placed : s.jobs[j].placed) {
      view.held_gpu_milli += s.gpu_milli(placed.place);
      placed.metered_from = s.now;
      burn += s.posting_of(sched::JobId(j), placed, s.now + kHour).amount;
    }
  view.burn = Rate::per_hour(burn);
  view.last_sequence = s.sequence;
  view.fingerprint = s.scheduler->fingerprint();
  view.read_only = s.read_only;
  view.backend = s.backend.name();
  view.notes = s.backend.notes();
  return view;
}

std::optional<sched::Explanation> Engine::explain(int64_t id) const {
  if (id < 1 || id > static_cast<int64_t>(impl_->jobs.size())) return std::nullopt;
  return impl_->scheduler->explain(sched::JobId(static_cast<uint32_t>(id - 1)));
}

std::optional<std::string> Engine::why_json(int64_t id, const MayName& may_name) const {
  const auto explanation = explain(id);
  if (!explanation) return std::nullopt;
  return waiting_json(*explanation, impl_->names(may_name), sched::JobId(static_cast<uint32_t>(id - 1)), impl_->now).dump();
}

std::optional<std::string> Engine::why(int64_t id, const MayName& may_name) const {
  const auto explanation = explain(id);
  if (!explanation) return std::nullopt;
  return waiting_text(*explanation, impl_->names(may_name), sched::JobId(static_cast<uint32_t>(id - 1)), impl_->now);
}

WaitingNames Engine::Impl::names(const MayName& may_name) const {
  return {.job =
              [may_name](sched::JobId id) {
                return !may_name || may_name(job_id_of(id)) ? fmt::format("{}", job_id_of(id)) : "of another client";
              },
          .queue = [this](sched::QueueId id) { return queue_name(id); },
          .node = [this](NodeId id) { return nodes[id.index()].node.node.name; }};
}

std::vector<EventView> Engine::events_since(int64_t number, size_t limit) const {
  const std::deque<EventView>& all = impl_->event_views;
  const auto from = std::ranges::upper_bound(all, number, {}, &EventView::number);
  const auto count = std::min(limit, static_cast<size_t>(all.end() - from));
  return {from, from + static_cast<std::ptrdiff_t>(count)};
}

int64_t Engine::last_event() const { return impl_->last_event; }

}  // namespace stint
