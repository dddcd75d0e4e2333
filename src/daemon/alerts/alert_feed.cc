#include "daemon/alerts/alert_feed.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "base/text.h"
#include "daemon/engine/event_hub.h"

namespace stint {
namespace {

/// What is known of the processes on a GPU is not what is so, when it was so long ago.
constexpr Duration kProcessesOld = Duration::minutes(5);

constexpr size_t kEventsLookedAt = 10'000;
constexpr std::array kAllKinds = {WorkloadKind::kUnknown,        WorkloadKind::kTraining,          WorkloadKind::kFineTuning,
                                  WorkloadKind::kBatchInference, WorkloadKind::kRealtimeInference, WorkloadKind::kEvaluation,
                                  WorkloadKind::kNotebook};

AlertSubject node_named(const std::string& node) { return {.scope = AlertScope::kNode, .node = node, .gpu = {}, .name = {}}; }
AlertSubject queue_named(const std::string& queue) { return {.scope = AlertScope::kQueue, .node = {}, .gpu = {}, .name = queue}; }
AlertSubject job_called(const std::string& id) { return {.scope = AlertScope::kJob, .node = {}, .gpu = {}, .name = id}; }
AlertSubject service_named(const std::string& name) {
  return {.scope = AlertScope::kService, .node = {}, .gpu = {}, .name = name};
}
AlertSubject spend_called(const std::string& name) { return {.scope = AlertScope::kSpend, .node = {}, .gpu = {}, .name = name}; }
AlertSubject fleet() { return {.scope = AlertScope::kFleet, .node = {}, .gpu = {}, .name = {}}; }

Duration longest_gpu_window(const std::vector<AlertRule>& rules) {
  Duration longest;
  for (const AlertRule& rule : rules)
    if (rule.scope == AlertScope::kGpu)
      longest = std::max(longest, rule.measure == Measure::kTimesBaseline ? rule.window + kBaseline : rule.window);
  return longest;
}

/// How the launch that the event tells of ended.
bool ran_out_of_memory(const JobView& job, const EventView& event) {
  return std::ranges::any_of(job.ends, [&](const EndView& end) {
    return end.node == event.node && end.ended <= event.at &&
           end.detail.find(name_of(EndCause::kOutOfMemory)) != std::string::npos;
  });
}

/// The only one of the holders' values; none when they differ or there are none.
template <typename Value, typename Get>
std::optional<Value> only_one(const std::vector<LiveHolder>& holders, Get get) {
  if (holders.empty()) return std::nullopt;
  const Value first = get(holders.front());
  const bool all = std::ranges::all_of(holders, [&](const LiveHolder& h) { return get(h) == first; });
  return all ? std::optional(first) : std::nullopt;
}

}  // namespace

std::optional<double> budget_used_percent(const QueueView& queue) {
  if (!queue.budget || !queue.budget_spent || queue.budget->count_nanos() <= 0) return std::nullopt;
  return 100 * static_cast<double>(queue.budget_spent->count_nanos()) / static_cast<double>(queue.budget->count_nanos());
}

AlertFeed::AlertFeed(std::vector<AlertRule> rules, const LiveTelemetry* live)
    : evaluator_(std::move(rules)), live_(live), looks_back_(longest_gpu_window(evaluator_.rules())) {}

AlertWorld AlertFeed::look(const Engine& engine, int64_t after) {
  AlertWorld world;
  world.read_only = engine.read_only().has_value();
  world.nodes = engine.nodes();
  world.queues = engine.queues();
  std::map<int64_t, bool> saves;
  JobFilter running;
  running.state = JobState::kRunning;
  for (const JobView& job : engine.jobs(running, {}, std::numeric_limits<size_t>::max()).jobs) {
    const auto known = saves_.find(job.id);
    const bool saving = known != saves_.end()
                            ? known->second
                            : engine.request_of(job.id)->checkpoint.interval != JobRequest().checkpoint.interval;
    saves.emplace(job.id, saving);
    if (saving)
      world.saving.push_back({.id = public_id(job), .queue = job.queue, .started = job.started.value_or(job.submitted)});
  }
  saves_ = std::move(saves);
  for (bool more = true; more;) {
    std::vector<EventView> events = engine.events_since(after, kEventsLookedAt);
    more = events.size() == kEventsLookedAt;
    for (EventView& event : events) {
      after = event.number;
      if (event.kind == "job.failed")
        if (const auto job = engine.job(event.job); job && ran_out_of_memory(*job, event))
          world.shortages.push_back({.node = event.node, .kind = kind_of(*job), .at = event.at});
      world.events.push_back(std::move(event));
    }
  }
  return world;
}

void AlertFeed::take_event(const EventView& event) {
  if (event.kind == "job.ended" && event.detail == name_of(JobState::kFailed)) {
    evaluator_.event(evaluator_.subject(queue_named(event.queue)), AlertEvent::kJobFailed, event.at);
    ++counters_.failed_jobs[event.queue];
  }
  if (event.kind == "job.checkpoint")
    if (const auto job = counters_.last_checkpoint.find(public_id_of_job(event)); job != counters_.last_checkpoint.end()) {
      evaluator_.event(evaluator_.subject(job_called(job->first)), AlertEvent::kCheckpoint, event.at);
      job->second.second = std::max(job->second.second, event.at);
    }
  if (event.kind == "node.down")
    if (const auto spot = spot_.find(event.node); spot != spot_.end() && spot->second)
      evaluator_.event(evaluator_.subject(node_named(event.node)), AlertEvent::kSpotInterruption, event.at);
}

void AlertFeed::take_jobs(const std::vector<SavingJob>& saving) {
  decltype(counters_.last_checkpoint) before = std::move(counters_.last_checkpoint);
  counters_.last_checkpoint.clear();
  for (const SavingJob& job : saving) {
    evaluator_.job_began(evaluator_.subject(job_called(job.id)), job.started);
    const auto known = before.find(job.id);
    const Instant last = known == before.end() ? job.started : std::max(known->second.second, job.started);
    counters_.last_checkpoint.emplace(job.id, std::pair(job.queue, last));
  }
  for (const auto& [job, last] : before)
    if (!counters_.last_checkpoint.contains(job)) evaluator_.drop(evaluator_.subject(job_called(job)));
}

/// Machines that are gone for good leave nothing behind, an alert included.
void AlertFeed::forget_machines_but(const std::vector<NodeView>& nodes) {
  std::set<std::string_view> there;
  for (const NodeView& node : nodes)
    there.insert(node.name);
  std::erase_if(spot_, [&](const auto& known) {
    if (there.contains(known.first)) return false;
    evaluator_.drop(evaluator_.subject(node_named(known.first)));
    for (const WorkloadKind kind : kAllKinds)
      counters_.out_of_memory.erase({known.first, kind});
    return true;
  });
}

void AlertFeed::take(const AlertWorld& world) {
  evaluator_.set_fact(evaluator_.subject(fleet()), AlertFact::kReadOnly, world.read_only ? 1 : 0);
  forget_machines_but(world.nodes);
  for (const NodeView& node : world.nodes) {
    const SubjectId id = evaluator_.subject(node_named(node.name));
    evaluator_.set_fact(id, AlertFact::kNodeDown, node.state == NodeState::kDown ? 1 : 0);
    evaluator_.set_spot(id, node.market == Market::kSpot);
    spot_[node.name] = node.market == Market::kSpot;
    for (const WorkloadKind kind : kAllKinds)
      counters_.out_of_memory.try_emplace({node.name, kind}, 0);
  }
  for (const QueueView& queue : world.queues) {
    const SubjectId id = evaluator_.subject(queue_named(queue.path));
    evaluator_.set_fact(id, AlertFact::kJobsWaiting, static_cast<double>(queue.waiting));
    evaluator_.set_fact(id, AlertFact::kBudgetUsed, budget_used_percent(queue));
    counters_.failed_jobs.try_emplace(queue.path, 0);
  }
  take_jobs(world.saving);
  for (const EventView& event : world.events)
    take_event(event);
  for (const MemoryShortage& shortage : world.shortages) {
    ++counters_.out_of_memory[{shortage.node, shortage.kind}];
    evaluator_.event(evaluator_.subject(node_named(shortage.node)), AlertEvent::kOutOfMemory, shortage.at, shortage.kind);
  }
}

void AlertFeed::take_audit(const AuditContents* audit, Instant now) {
  const std::vector<UnusualSpend> before = std::exchange(counters_.unusual_spend, audit ? audit->unusual : decltype(before){});
  for (const UnusualSpend& spend : counters_.unusual_spend)
    evaluator_.set_fact(evaluator_.subject(spend_called(spend.name)), AlertFact::kSpendOff, spend.deviations);
  for (const UnusualSpend& spend : before)
    if (std::ranges::find(counters_.unusual_spend, spend.name, &UnusualSpend::name) == counters_.unusual_spend.end())
      evaluator_.drop(evaluator_.subject(spend_called(spend.name)));
  counters_.price_age_days.reset();
  if (audit != nullptr) counters_.price_age_days = audit->oldest_price ? (now - *audit->oldest_price).to_hours() / 24 : 0;
  evaluator_.set_fact(evaluator_.subject(fleet()), AlertFact::kPriceAge, counters_.price_age_days);
}

SubjectId AlertFeed::gpu_subject(const LiveGpu& gpu) {
  const std::string name = id_of(gpu.device);
  const SubjectId id = evaluator_.subject({.scope = AlertScope::kGpu, .node = gpu.device.node, .gpu = name, .name = {}});
  const auto kind = only_one<WorkloadKind>(gpu.holders, [](const LiveHolder& h) { return h.kind; });
  evaluator_.set_kind(id, kind.value_or(WorkloadKind::kUnknown));
  gpu_clients_[name] = only_one<std::string>(gpu.holders, [](const LiveHolder& h) { return h.client; }).value_or("");
  return id;
}

void AlertFeed::take_minutes(Instant now) {
  if (live_ == nullptr) return;
  const LiveSnapshot snapshot = live_->snapshot();
  const Instant minute = Instant::from_seconds(now.seconds() - now.seconds() % 60);
  const Instant from = fed_.value_or(minute - looks_back_);
  for (size_t g = 0; g < snapshot.gpus.size(); ++g) {
    const LiveGpu& gpu = snapshot.gpus[g];
    const SubjectId id = gpu_subject(gpu);
    const bool told = gpu.processes_seen && now - *gpu.processes_seen < kProcessesOld;
    evaluator_.set_fact(id, AlertFact::kForeignProcesses,
                        told ? std::optional(static_cast<double>(uninvited_processes(gpu))) : std::nullopt);
    evaluator_.set_fact(id, AlertFact::kHeldBack, gpu.held_back.empty() ? 0.0 : 1.0);
    if (from >= minute) continue;
    for (const LiveMinute& m : live_->minutes_of(g, from, minute))
      evaluator_.sample(id, m.metric, m.begin, m.mean);
  }
  for (const LiveServiceMinute& m : live_->service_minutes_since(from, minute))
    evaluator_.sample(evaluator_.subject(service_named(m.service)), Metric::kLatencyP99, m.begin, m.mean);
  fed_ = minute;
}

std::string AlertFeed::queue_of(const AlertSubject& who) const {
  if (who.scope == AlertScope::kQueue) return who.name;
  if (who.scope != AlertScope::kJob) return {};
  const auto at = counters_.last_checkpoint.find(who.name);
  return at == counters_.last_checkpoint.end() ? "" : at->second.first;
}

std::string AlertFeed::client_of(const AlertSubject& who) const {
  if (who.scope == AlertScope::kSpend) {
    const auto at = std::ranges::find(counters_.unusual_spend, who.name, &UnusualSpend::name);
    return at == counters_.unusual_spend.end() ? "" : at->client;
  }
  if (who.scope == AlertScope::kGpu) {
    const auto at = gpu_clients_.find(who.gpu);
    return at == gpu_clients_.end() ? "" : at->second;
  }
  return std::string(client_of_queue(queue_of(who)));
}

}  // namespace stint
