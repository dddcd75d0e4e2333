// What is shown of the engine's state. Values are made when they are asked for.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/job_groups.h"
#include "daemon/engine/engine_impl.h"
#include "report/waiting_text.h"

namespace stint {
namespace {

constexpr size_t kCommandShown = 120;

std::string one_line(const JobRequest& r) {
  std::string line = !r.arguments.empty() ? fmt::format("{} {}", name_shown(r), fmt::join(r.arguments, " "))
                     : r.command.empty()  ? r.script
                                          : fmt::format("{}", fmt::join(r.command, " "));
  if (const size_t end = line.find('\n'); end != std::string::npos) line.resize(end);
  return excerpt(line, kCommandShown);
}

bool is_below(std::string_view path, const FleetConfig& fleet, sched::QueueId queue) {
  for (; queue.valid(); queue = fleet.queues[queue.index()].parent)
    if (fleet.queues[queue.index()].name == path) return true;
  return false;
}

int64_t asked_milli(const JobRequest& r) {
  if (!r.groups.empty()) {
    int64_t sum = 0;
    for (const JobGroup& group : r.groups)
      if (!holds_groups(r, group)) sum += asked_milli(group.each);
    return sum;
  }
  return int64_t{r.tasks} * (r.gpus > 0 ? int64_t{r.gpus} * sched::kMilli : r.gpu_milli);
}

/// Where that is no number of GPUs.
std::string asked_part(const JobRequest& r) {
  const bool in_part = std::ranges::any_of(r.groups, [](const JobGroup& group) { return !part_text(group.each).empty(); });
  return in_part ? groups_text(r) : part_text(r);
}

std::vector<GroupView> groups_of(const JobRequest& r) {
  std::vector<GroupView> groups;
  for (const JobGroup& group : r.groups)
    groups.push_back({.name = group.name,
                      .within = group.within,
                      .tasks = holds_groups(r, group) ? 0 : group.each.tasks,
                      .least_tasks = holds_groups(r, group) ? 0 : least_tasks(group.each),
                      .gpu_milli = asked_milli(group.each) / group.each.tasks,
                      .gpu_part = part_text(group.each),
                      .gpu_models = group.each.gpu_models,
                      .required_topology = group.each.required_topology,
                      .preferred_topology = group.each.preferred_topology});
  return groups;
}

}  // namespace

std::string name_shown(const JobRequest& request) {
  return !request.name.empty() ? request.name : request.command.empty() ? "script" : request.command[0];
}

std::vector<int> gpu_indexes(uint64_t gpus) {
  std::vector<int> indexes;
  for (int i = 0; i < sched::kMaxGpusPerNode; ++i)
    if ((gpus >> i & 1) != 0) indexes.push_back(i);
  return indexes;
}

std::string public_id(std::string_view client, int64_t number) { return fmt::format("{}-{}", client, number); }

std::string public_id(std::string_view client, int64_t number, ArrayIndex index) {
  return index ? fmt::format("{}-{}_{}", client, number - *index, *index) : public_id(client, number);
}

std::optional<PublicId> parse_public_id(std::string_view text) {
  const size_t dash = text.rfind('-');
  const std::string_view behind = dash == std::string_view::npos ? text : text.substr(dash + 1);
  const size_t mark = behind.find('_');
  const auto number = parse_int(behind.substr(0, mark));
  if (!number || *number < 1 || *number > UINT32_MAX || dash == 0) return std::nullopt;
  PublicId id{.client = std::string(text.substr(0, dash == std::string_view::npos ? 0 : dash)), .number = *number, .index = {}};
  if (mark == std::string_view::npos) return id;
  const auto index = parse_int(behind.substr(mark + 1));
  if (!index || *index < 0 || *index >= kMostOfArray) return std::nullopt;
  id.index = static_cast<int32_t>(*index);
  return id;
}

std::string_view client_of_queue(std::string_view queue) { return queue.substr(0, queue.find('/')); }

std::string_view audience_of(const EventView& event) {
  if (!event.queue.empty()) return client_of_queue(event.queue);
  // An alert about a GPU or a machine tells how it is used: by jobs without a client, or by those of several. What is neither of a
  // machine is of all clients together, such as a budget of them all.
  return !event.kind.starts_with("alert.") && event.job == 0 && !event.node.empty() ? kMachineAudience : kFleetAudience;
}

std::string_view audience_of_event(std::string_view public_id) {
  const size_t mark = public_id.find_last_of("-~");
  if (mark == std::string_view::npos) return {};
  return public_id.substr(0, public_id[mark] == '~' ? mark + 1 : mark);
}

std::string public_id(const EventView& event) {
  const std::string_view audience = audience_of(event);
  return audience.ends_with('~') ? fmt::format("{}{}", audience, event.told) : public_id(audience, event.told);
}

std::string public_id_of_job(const EventView& event) {
  return public_id(client_of_queue(event.queue), event.job_number, event.array_index);
}

std::string text_of(const StateCounts& counts) {
  std::string text;
  for (const auto& [state, jobs] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", jobs, name_of(state));
  return text;
}

std::string_view name_of(JobState s) {
  switch (s) {
    case JobState::kOnHold: return "on-hold";
    case JobState::kNeedsApproval: return "needs-approval";
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
    case JobState::kRefused: return "refused";
  }
  return "unknown";
}

std::optional<JobState> parse_job_state(std::string_view text) {
  for (int s = 0; s <= static_cast<int>(JobState::kRefused); ++s)
    if (name_of(static_cast<JobState>(s)) == text) return static_cast<JobState>(s);
  return std::nullopt;
}

std::string_view name_of(NodeState s) {
  switch (s) {
    case NodeState::kUp: return "up";
    case NodeState::kDraining: return "draining";
    case NodeState::kDrained: return "drained";
    case NodeState::kDown: return "down";
    case NodeState::kOff: return "off";
  }
  return "unknown";
}

Rate rate_now(const NodeView& node) {
  return node.state == NodeState::kOff && !is_paid_while_off(node.market)
             ? Rate::per_hour(Money::nanos(0, node.rate.per_hour().currency()))
             : node.rate;
}

std::optional<JobView> Engine::job(int64_t id) const {
  const Impl& s = *impl_;
  const sched::JobId found = s.find(id);
  if (!found.valid()) {
    if (id < 1 || id > s.accepted) return std::nullopt;
    const auto ended = s.log.ended_job(id);
    return ended.ok() && *ended ? s.view_of(**ended) : std::nullopt;
  }
  const JobBook& job = s.jobs[found.index()];
  JobView view = s.view_of(job);
  view.micro_gpu_hours = s.costs.micro_gpu_hours_of(job, s.shown_at());
  view.cost = s.costs.cost_of(job, found, s.shown_at());
  view.burn = s.costs.burn_of(found);
  return view;
}

namespace {

/// Of a job that others wait for in vain: "failed", "was cancelled".
std::string_view ended_how(JobState state) {
  switch (state) {
    case JobState::kFailed: return "failed";
    case JobState::kCancelled: return "was cancelled";
    case JobState::kTimeLimit: return "ran into its time limit";
    case JobState::kStopped: return "was stopped as a hopeless trial";
    case JobState::kNeverFits: return "fits no machine";
    case JobState::kDependencyFailed: return "waited for a job that did not succeed";
    case JobState::kRefused: return "was not approved";
    default: return "did not succeed";
  }
}

TrialView trial_of(const JobBook& job) {
  TrialView trial{.study = job.request->study, .rungs = {}, .reports = job.reports};
  const sched::Asha asha(job.request->rungs);
  for (int rung = 0; rung < asha.rungs(); ++rung)
    trial.rungs.push_back(asha.resource_at(rung));
  return trial;
}

}  // namespace

std::string Engine::Impl::failed_dependency_of(const JobBook& job) const {
  std::string named;
  for (const int64_t after : job.request->after) {
    std::optional<JobState> state;
    if (const sched::JobId known = find(after); known.valid())
      state = jobs[known.index()].state;
    else if (const auto ended = log.ended_job(after); ended.ok() && *ended)
      state = static_cast<JobState>((*ended)->state);
    if (state && has_ended(*state) && *state != JobState::kSucceeded && *state != JobState::kSkipped)
      named += fmt::format("{}job {} {}", named.empty() ? "" : ", ", names_of.public_id_of(after), ended_how(*state));
  }
  return named;
}

JobView Engine::Impl::view_of(const JobBook& job) const {
  const Impl& s = *this;
  const JobRequest& r = *job.request;
  JobView view;
  view.id = job.id;
  view.number = job.number;
  view.name = name_shown(r);
  view.queue = s.queue_name(job.queue);
  view.client = s.client_of(job.queue);
  view.user = r.user;
  view.tags = r.tags;
  view.state = job.state;
  if (job.reason) view.reason = words_of(*job.reason);
  if (job.state == JobState::kDependencyFailed)
    if (const std::string culprit = s.failed_dependency_of(job); !culprit.empty()) view.reason = culprit;
  view.command = one_line(r);
  view.tasks = r.tasks;
  view.gpus_per_task = r.gpus;
  view.gpu_milli = asked_milli(r);
  view.gpu_part = asked_part(r);
  view.groups = groups_of(r);
  if (!view.gpu_part.empty()) view.gpu_milli = 0;
  if (!view.gpu_part.empty())
    for (const PlacedTask& placed : job.placed)
      view.gpu_milli += s.costs.gpu_milli(job, placed);
  view.priority = r.priority;
  for (const int64_t after : r.after)
    view.after.push_back(s.names_of.public_id_of(after));
  view.array = job.array_first;
  view.array_index = job.array_index;
  view.array_size = r.array;
  view.submitted = job.submitted;
  view.first_started = job.first_started;
  view.started = job.started;
  view.ended = job.ended;
  if (r.deadline != sched::kNever) view.deadline = r.deadline;
  view.deferrable = r.deferrable;
  view.makes = r.makes;
  view.shares_with = r.shares_with;
  view.work_kind = r.work_kind;
  if (r.max_slowdown_percent >= 0) view.max_slowdown_percent = r.max_slowdown_percent;
  view.required_topology = r.required_topology;
  view.preferred_topology = r.preferred_topology;
  view.labels = r.labels;
  view.affinity = r.affinity;
  view.anti_affinity = r.anti_affinity;
  if (r.time_limit != sched::kUnlimited) view.time_limit = r.time_limit;
  view.starts = job.starts;
  view.failures = job.failures;
  for (const PlacedTask& placed : job.placed)
    view.placed.push_back({.task = placed.task,
                           .attempt = placed.attempt,
                           .node = s.nodes[placed.place.node.index()].machine.node.name,
                           .gpus = gpu_indexes(placed.place.gpus),
                           .gpu_milli = placed.place.milli,
                           .mig_profile = needs_of(r, placed.task).mig_profile,
                           .started = placed.started,
                           .leaving = placed.leaving});
  view.ends = job.ends;
  if (!r.study.empty()) view.trial = trial_of(job);
  view.micro_gpu_hours = job.posted_micro_gpu_hours;
  view.cost = job.posted;
  view.burn = Rate::per_hour(Money::nanos(0, currency()));
  if (const ApprovalView* approval = s.governance.approval_of(job); approval != nullptr) view.approval = *approval;
  return view;
}

namespace {

/// Jobs of the log, the newest first, read a page at a time as they are asked for.
class EndedJobs {
 public:
  EndedJobs(EventLog& log, const JobFilter& filter, int64_t before) : log_(log), next_(before) {
    filter_ = {.queue = filter.queue, .user = filter.user, .name = filter.name, .state = std::nullopt};
    if (filter.state) filter_.state = static_cast<int32_t>(*filter.state);
    // Trials do not leave memory: those that follow are measured by them.
    none_ = !filter.study.empty() || (filter.ended && !*filter.ended) || (filter.state && !has_ended(*filter.state));
  }
  /// nullptr: there is none left.
  const EndedJob* first() {
    if (at_ == page_.size() && !none_) fill();
    return at_ < page_.size() ? &page_[at_] : nullptr;
  }
  void pop() { ++at_; }
  /// On to those with an id below `before`.
  void skip_to(int64_t before) {
    while (at_ < page_.size() && page_[at_].id >= before)
      ++at_;
    next_ = std::min(next_, before);
  }

 private:
  void fill() {
    constexpr size_t kPage = 100;
    page_.clear();
    at_ = 0;
    const Status read = log_.read_ended_jobs(filter_, next_, [&](const EndedJob& job) {
      page_.push_back(job);
      return page_.size() < kPage;
    });
    none_ = !read.ok() || page_.size() < kPage;  // what cannot be read is not there: it can be asked for again
    if (!page_.empty()) next_ = page_.back().id;
  }
  EventLog& log_;
  EndedJobFilter filter_;
  int64_t next_;
  bool none_ = false;
  std::vector<EndedJob> page_;
  size_t at_ = 0;
};

}  // namespace

JobPage Engine::jobs(const JobFilter& filter, std::optional<int64_t> before, size_t limit) const {
  const Impl& s = *impl_;
  const auto matches = [&](const JobBook& job) {
    return (!filter.state || job.state == *filter.state) && (!filter.ended || has_ended(job.state) == *filter.ended) &&
           (filter.user.empty() || job.request->user == filter.user) &&
           (filter.name.empty() || job.request->name == filter.name) &&
           (filter.study.empty() || job.request->study == filter.study) &&
           (filter.array == 0 || job.array_first == filter.array) &&
           (filter.queue.empty() || is_below(filter.queue, s.fleet, job.queue));
  };
  JobPage page;
  int64_t end = std::min(before.value_or(INT64_MAX), s.accepted + 1);
  if (filter.array > 0)
    if (const auto all = array(filter.array)) end = std::min(end, filter.array + all->array_size);
  EndedJobs ended(s.log, filter, end);
  auto at = std::ranges::lower_bound(s.jobs, end, {}, &JobBook::id);
  for (;;) {
    while (at != s.jobs.begin() && !matches(*std::prev(at)))
      --at;
    const JobBook* in_memory = at == s.jobs.begin() ? nullptr : &*std::prev(at);
    // With everything in memory the log is not asked.
    const EndedJob* in_log = s.accepted == std::ssize(s.jobs) ? nullptr : ended.first();
    const int64_t next = std::max(in_memory == nullptr ? 0 : in_memory->id, in_log == nullptr ? 0 : in_log->id);
    if (next < std::max<int64_t>(filter.array, 1)) return page;
    if (page.jobs.size() == limit) {
      page.next = page.jobs.back().id;
      return page;
    }
    if (filter.arrays_as_one)
      if (auto whole = array_with(next)) {
        at = std::ranges::lower_bound(s.jobs, whole->id, {}, &JobBook::id);
        ended.skip_to(whole->id);
        page.jobs.push_back(std::move(*whole));
        continue;
      }
    if (in_log == nullptr || (in_memory != nullptr && in_memory->id > in_log->id)) {
      page.jobs.push_back(*job(in_memory->id));
      --at;
    } else {
      if (auto view = s.view_of(*in_log)) page.jobs.push_back(std::move(*view));
      ended.pop();
    }
  }
}

std::vector<NodeView> Engine::nodes() const {
  const Impl& s = *impl_;
  std::vector<NodeView> views;
  for (const NodeBook& node : s.nodes) {
    NodeView& view = views.emplace_back();
    view.name = node.machine.node.name;
    view.gpu_model = node.machine.node.gpu_model;
    view.gpus = node.machine.node.gpus;
    view.gpu_memory = node.machine.node.gpu_memory;
    view.cpu_milli = node.machine.node.cpu_milli;
    view.memory = node.machine.node.memory;
    view.market = node.machine.market;
    view.provider = node.machine.provider;
    view.region = node.machine.region;
    view.instance_type = node.machine.instance_type;
    for (const Label& label : node.machine.node.labels)
      view.labels.emplace_back(label.key, label.value);
    view.rate = node.charged;
    view.rates = node.rates;
    view.until = node.until;
    view.detail = node.detail;
    view.gpu_milli_held.assign(static_cast<size_t>(node.machine.node.gpus), 0);
  }
  for (size_t j = 0; j < s.jobs.size(); ++j)
    for (const PlacedTask& placed : s.jobs[j].placed) {
      NodeView& view = views[placed.place.node.index()];
      const int64_t milli = s.costs.gpu_milli(s.jobs[j], placed);
      for (const int gpu : gpu_indexes(placed.place.gpus))
        view.gpu_milli_held[static_cast<size_t>(gpu)] +=
            placed.place.milli > 0 || placed.place.mig_profile >= 0 ? milli : sched::kMilli;
      const int64_t id = s.jobs[j].id;
      if (!view.jobs.empty() && view.jobs.back() == id) continue;
      view.jobs.push_back(id);
      view.job_names.push_back(public_id(s.client_of(s.jobs[j].queue), s.jobs[j].number, s.jobs[j].place_in_array()));
    }
  for (size_t n = 0; n < views.size(); ++n)
    views[n].state = s.nodes[n].down          ? NodeState::kDown
                     : s.nodes[n].is_usable() ? NodeState::kUp
                     : views[n].jobs.empty()  ? NodeState::kDrained
                                              : NodeState::kDraining;
  std::erase_if(views, [](const NodeView& view) { return view.name.empty(); });
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
    view.weight = spec.over_quota_weight;
    view.cost = Money::nanos(0, s.currency());
    if (const auto budget = s.scheduler->budget_of(sched::QueueId(static_cast<uint32_t>(q)), s.shown_at())) {
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
  const Governance::Standing standing = s.governance.standing(s.shown_at());
  for (size_t a = 0; a < standing.spent.size(); ++a)
    add(sched::QueueId(s.govern.spend.accounts()[a].queue),
        [&](QueueView& view) { view.month_micro_gpu_hours += static_cast<int64_t>(standing.spent[a].micro_gpu_hours); });
  for (const uint32_t j : s.govern.on_nodes)
    for (const PlacedTask& placed : s.jobs[j].placed)
      add(s.jobs[j].queue, [&](QueueView& view) {
        view.held_gpu_milli += s.costs.gpu_milli(s.jobs[j], placed);
        if (!placed.ended) view.cost += s.costs.posting_of(sched::JobId(j), placed, s.shown_at()).amount;
      });
  return views;
}

int64_t Engine::waiting_gpu_milli() const { return impl_->scheduler->waiting_gpu_milli(); }

bool Engine::runs_jobs() const {
  return std::ranges::any_of(impl_->queues, [](const QueueBook& queue) { return queue.running > 0; });
}

EngineView Engine::overview() const {
  const Impl& s = *impl_;
  EngineView view;
  view.now = s.shown_at();
  view.jobs = s.accepted;
  for (const QueueBook& queue : s.queues) {
    view.waiting += queue.waiting;
    view.running += queue.running;
  }
  for (const NodeBook& node : s.nodes)
    if (!node.down) view.gpus += node.machine.node.gpus;
  Money burn = Money::nanos(0, s.currency());
  for (uint32_t j = 0; j < s.jobs.size(); ++j) {
    if (s.jobs[j].placed.empty()) continue;
    for (const PlacedTask& placed : s.jobs[j].placed)
      view.held_gpu_milli += s.costs.gpu_milli(s.jobs[j], placed);
    burn += s.costs.burn_of(sched::JobId(j)).per_hour();
  }
  view.burn = Rate::per_hour(burn);
  view.last_sequence = s.sequence;
  view.fingerprint = s.scheduler->fingerprint();
  view.read_only = s.read_only;
  if (s.backend != nullptr) {
    view.backend = s.backend->name();
    view.notes = s.backend->notes();
  }
  return view;
}

int64_t Engine::id_of(sched::JobId job) const { return impl_->id_of(job); }
size_t Engine::jobs_in_memory() const { return impl_->jobs.size(); }

std::optional<sched::Explanation> Engine::explain(int64_t id) const {
  if (const sched::JobId found = impl_->find(id); found.valid()) return impl_->scheduler->explain(found);
  if (id < 1 || id > impl_->accepted) return std::nullopt;
  return sched::Explanation{.standing = sched::Standing::kEnded};
}

std::optional<std::string> Engine::why_json(int64_t id, const MayName& may_name) const {
  const auto explanation = explain(id);
  if (!explanation) return std::nullopt;
  return waiting_json(*explanation, impl_->names(may_name, id), impl_->find(id), impl_->now).dump();
}

std::optional<std::string> Engine::why(int64_t id, const MayName& may_name) const {
  const auto explanation = explain(id);
  if (!explanation) return std::nullopt;
  if (const sched::JobId found = impl_->find(id); found.valid() && impl_->jobs[found.index()].state == JobState::kNeedsApproval)
    return fmt::format("needs approval: {}\nstint approval approve {} by another person who may approve lets it wait for room\n",
                       impl_->governance.approval_of(impl_->jobs[found.index()])->why, impl_->names_of.public_id_of(id));
  std::string text = waiting_text(*explanation, impl_->names(may_name, id), impl_->find(id), impl_->now);
  if (const sched::JobId found = impl_->find(id); found.valid()) text += impl_->dispatch.text_of_hindrances(found);
  return text;
}

/// @param subject  the job it is about, which may no longer be in memory.
WaitingNames Engine::Impl::names(const MayName& may_name, int64_t subject) const {
  return {.job =
              [this, may_name, subject](sched::JobId job) {
                const int64_t id = job.valid() ? id_of(job) : subject;
                return !may_name || may_name(id) ? names_of.public_id_of(id) : "of another client";
              },
          .queue = [this](sched::QueueId id) { return queue_name(id); },
          .node = [this](NodeId id) { return nodes[id.index()].machine.node.name; }};
}

std::vector<EventView> Engine::events_since(int64_t number, size_t limit) const {
  const std::deque<EventView>& all = impl_->event_views;
  const auto from = std::ranges::upper_bound(all, number, {}, &EventView::number);
  const auto count = std::min(limit, static_cast<size_t>(all.end() - from));
  return {from, from + static_cast<std::ptrdiff_t>(count)};
}

int64_t Engine::last_event() const { return impl_->last_event; }

std::optional<int64_t> Engine::find_event(std::string_view public_id) const {
  const auto known = impl_->event_counts.find(audience_of_event(public_id));
  const auto count = parse_int(public_id.substr(public_id.find_last_of("-~") + 1));
  if (known == impl_->event_counts.end() || !count || *count < 1 || *count > known->second) return std::nullopt;
  const std::deque<EventView>& all = impl_->event_views;
  const auto found = std::ranges::find_if(
      all, [&](const EventView& event) { return event.told == *count && audience_of(event) == known->first; });
  if (found != all.end()) return found->number;
  return all.empty() ? impl_->last_event : all.front().number - 1;
}

}  // namespace stint
