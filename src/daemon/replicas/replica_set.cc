#include "daemon/replicas/replica_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "daemon/service_answer.h"
#include "host/file.h"
#include "host/replica_proof.h"

namespace stint {
namespace {

constexpr std::string_view kPlaceTag = "stint.place";
constexpr std::string_view kVersionTag = "stint.version";
constexpr int kSilences = 3;  // in a row until it is taken to be gone
constexpr Duration kFirstPause = Duration::seconds(10);
constexpr Duration kLongestReplicaPause = Duration::minutes(5);
constexpr size_t kJobsOfPage = 500;
/// On simulated machines: until it is stopped.
constexpr Duration kSimulated = Duration::hours(24 * 365);
const CommandInfo kByServices{.actor = "services", .idempotency_key = ""};

std::string_view tag_of(const JobView& job, std::string_view key) {
  const auto found = std::ranges::find(job.tags, key, [](const auto& tag) -> std::string_view { return tag.first; });
  return found == job.tags.end() ? std::string_view() : found->second;
}

std::string version_of(const JobRequest& job) {
  Fnv1a hash;
  hash.update(to_json(job));
  return fmt::format("{:016x}", hash.digest());
}

bool is_on_any(const JobView& job, const std::set<std::string>& machines) {
  return std::ranges::any_of(job.placed, [&](const TaskView& task) { return machines.contains(task.node); });
}

/// What its busiest model uses of what its promise allows; none: no model has one.
std::optional<double> used_of(const std::vector<ServiceFigures>& figures) {
  std::optional<double> used;
  for (const ServiceFigures& model : figures)
    if (model.headroom) used = std::max(used.value_or(0), 1 - *model.headroom);
  return used;
}

std::string words_for_end(const std::optional<JobView>& job) {
  if (!job) return "is forgotten";
  if (job->ends.empty()) return fmt::format("ended: {}", name_of(job->state));
  const EndView& end = job->ends.back();
  const std::string how = end.signal != 0 ? fmt::format("signal {}", end.signal) : fmt::format("exit code {}", end.exit_code);
  return fmt::format("ended: {}, {}; `stint logs {}` tells more", name_of(job->state), how, public_id(*job));
}

bool is_asked(const std::vector<ServiceFigures>& figures) {
  return std::ranges::any_of(figures, [](const ServiceFigures& model) { return model.per_second.value_or(0) > 0; });
}

}  // namespace

std::vector<JobView> replica_jobs(const Engine& engine, std::string_view service) {
  std::vector<JobView> replicas;
  const JobFilter open{.state = {}, .ended = false, .queue = {}, .user = {}, .name = std::string(service), .study = {}};
  std::optional<int64_t> before;
  do {
    JobPage page = engine.jobs(open, before, kJobsOfPage);
    for (JobView& job : page.jobs)
      if (const std::string_view of = tag_of(job, kServiceTag); !of.empty() && (service.empty() || of == service))
        replicas.push_back(std::move(job));
    before = page.next;
  } while (before);
  return replicas;
}

Status stop_replica(Service& service, int64_t job) {
  TRY(answer_of<JobView>([&](auto answer) { service.cancel(job, kByServices, std::move(answer)); }));
  return {};
}

std::string replica_secret(std::string_view key, std::string_view service, std::string_view place) {
  return hmac_sha256_hex(key, fmt::format("{}\n{}", service, place));
}

ReplicaSet::ReplicaSet(Service& service, ServiceConfig config, AskReplica ask, std::string key)
    : service_(service),
      config_(std::move(config)),
      ask_(std::move(ask)),
      key_(std::move(key)),
      rules_(config_.rules),
      version_(version_of(config_.job)),
      places_(config_.places) {
  shown_.name = config_.name;
  shown_.queue = config_.job.queue;
  shown_.least = config_.rules.min_nodes;
  shown_.most = config_.rules.max_nodes;
}

ReplicaSetView ReplicaSet::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

void ReplicaSet::heed(const StandingAsks& asks) {
  resting_ = asks.resting;
  sched::ScalingRules rules = config_.rules;
  if (const auto most = asks.replicas.find(config_.name); most != asks.replicas.end()) {
    rules.max_nodes = std::min(rules.max_nodes, most->second);
    rules.min_nodes = std::min(rules.min_nodes, rules.max_nodes);
  }
  if (rules == rules_) return;
  rules_ = rules;
  shown_.least = rules_.min_nodes;
  shown_.most = rules_.max_nodes;
  if (!scaler_) return;
  const int32_t wanted = std::clamp(shown_.wanted, rules_.min_nodes, rules_.max_nodes);
  scaler_.emplace(rules_, wanted);
  if (wanted == shown_.wanted) return;
  tell("service.scaled", fmt::format("{}: {} instead of {} replicas: a change that was carried out or taken back", config_.name,
                                     wanted, shown_.wanted));
  shown_.wanted = wanted;
}

Duration ReplicaSet::look(Instant at) {
  last_look_ = std::max(at, last_look_);
  const Instant now = last_look_;
  sched::ScalingSignals signals;
  shown_.replicas = gather(now, signals);
  note_lost(now);
  scale(signals, now);
  const ReplicaPlan plan = plan_replicas(static_cast<size_t>(shown_.wanted), shown_.replicas, places_);
  for (const int64_t job : plan.drain)
    memories_[job].draining_since = now;
  for (Replica& replica : shown_.replicas)
    if (std::ranges::find(plan.drain, replica.job) != plan.drain.end()) replica.phase = ReplicaPhase::kDraining;
  // No request is sent to one that goes, before it is told to.
  name_ready();
  for (const int64_t job : plan.stop)
    stop(job);
  for (const std::string& place : plan.begin)
    if (now >= not_before_) begin(place, now);
  const std::lock_guard lock(mutex_);
  view_ = shown_;
  return config_.every;
}

std::vector<Replica> ReplicaSet::gather(Instant now, sched::ScalingSignals& signals) {
  std::vector<JobView> jobs =
      service_.get([name = config_.name](const Engine& engine) { return replica_jobs(engine, name); }).get();
  std::vector<Replica> replicas;
  double used = 0;
  int32_t ready = 0, telling = 0;
  shown_.per_second.reset();
  shown_.per_hour.reset();
  for (const JobView& job : jobs) {
    if (const Money burn = job.burn.per_hour(); !burn.is_zero())
      shown_.per_hour = shown_.per_hour ? *shown_.per_hour + burn : burn;
    Replica replica{.place = std::string(tag_of(job, kPlaceTag)),
                    .job = job.id,
                    .job_name = public_id(job),
                    .current = tag_of(job, kVersionTag) == version_ && !is_on_any(job, resting_)};
    Memory& memory = memories_[job.id];
    memory.name = replica.job_name;
    memory.place = replica.place;
    std::vector<ServiceFigures> figures;
    replica.phase = phase_of(job, replica.place, memory, figures, now);
    for (const ServiceFigures& model : figures)
      if (model.per_second) shown_.per_second = shown_.per_second.value_or(0) + *model.per_second;
    if (replica.phase == ReplicaPhase::kReady) {
      ++ready;
      if (is_asked(figures)) signals.busy_nodes = 1;
      if (const std::optional<double> part = used_of(figures)) {
        used += *part;
        ++telling;
      }
    }
    replicas.push_back(std::move(replica));
  }
  std::ranges::sort(replicas, {}, &Replica::place);
  if (telling > 0) signals.utilization = used / telling;
  signals.starting_nodes = std::max(0, shown_.wanted - ready);
  if (scaler_ && ready >= shown_.wanted) {
    failures_ = 0;
    shown_.trouble.clear();
  }
  return replicas;
}

std::optional<Money> cost_per_thousand(const ReplicaSetView& service) {
  if (!service.per_hour || service.per_second.value_or(0) <= 0) return std::nullopt;
  const double thousands_per_hour = *service.per_second * 3.6;
  return Money::estimate(service.per_hour->to_double() / thousands_per_hour, service.per_hour->currency());
}

ReplicaPhase ReplicaSet::phase_of(const JobView& job, const std::string& place, Memory& memory,
                                  std::vector<ServiceFigures>& figures, Instant now) {
  if (memory.stopped || job.state == JobState::kLeaving || std::ranges::any_of(job.placed, &TaskView::leaving))
    return ReplicaPhase::kLeaving;
  if (memory.draining_since) {
    if (job.state == JobState::kRunning && now - *memory.draining_since < config_.drain) return ReplicaPhase::kDraining;
    stop(job.id);
    return ReplicaPhase::kLeaving;
  }
  if (job.state != JobState::kRunning) {
    memory.is_ready = false;
    memory.unready_since.reset();
    return ReplicaPhase::kWaiting;
  }
  ReplicaHealth health = ask_(place, now);
  figures = std::move(health.figures);
  if (health.answer == ReplicaHealth::Answer::kStranger) {
    memory.is_ready = false;
    fail(fmt::format("{}: who answers on {} has not shown that it is the replica: another program listens there (a server that "
                     "cannot show "
                     "it takes \"proof\": false in the service's configuration)",
                     public_id(job), place),
         now);
    avoid(place);
    stop(job.id);
    return ReplicaPhase::kLeaving;
  }
  memory.silences = health.answer == ReplicaHealth::Answer::kSilent ? memory.silences + 1 : 0;
  if (health.answer != ReplicaHealth::Answer::kSilent || memory.silences >= kSilences)
    memory.is_ready = health.answer == ReplicaHealth::Answer::kReady;
  if (memory.is_ready)
    memory.unready_since.reset();
  else if (!memory.unready_since)
    memory.unready_since = now;
  if (memory.is_ready) return ReplicaPhase::kReady;
  if (now - *memory.unready_since < config_.start_within) return ReplicaPhase::kStarting;
  fail(fmt::format("{} was not ready within {} s", public_id(job), config_.start_within.whole_seconds()), now);
  avoid(place);
  stop(job.id);
  return ReplicaPhase::kLeaving;
}

/// Those that have ended, without being told to.
void ReplicaSet::note_lost(Instant now) {
  for (auto it = memories_.begin(); it != memories_.end();) {
    const auto& [job, memory] = *it;
    if (std::ranges::find(shown_.replicas, job, &Replica::job) != shown_.replicas.end()) {
      ++it;
      continue;
    }
    if (!memory.stopped && !memory.draining_since) {
      const auto end = service_.get([id = job](const Engine& engine) { return engine.job(id); }).get();
      fail(fmt::format("{} {}", memory.name, words_for_end(end)), now);
      avoid(memory.place);
    }
    it = memories_.erase(it);
  }
}

void ReplicaSet::scale(sched::ScalingSignals& signals, Instant now) {
  if (!scaler_) {
    const auto there = static_cast<int32_t>(
        std::ranges::count_if(shown_.replicas, [](const Replica& replica) { return replica.phase <= ReplicaPhase::kReady; }));
    shown_.wanted = std::clamp(there, rules_.min_nodes, rules_.max_nodes);
    scaler_.emplace(rules_, shown_.wanted);
  }
  shown_.utilization = signals.utilization;
  // Who tells nothing of its load stays as it is.
  if (!signals.utilization) signals.custom_nodes = shown_.wanted;
  const sched::ScalingDecision decision = scaler_->step(now, shown_.wanted, signals);
  shown_.reason = decision.reason == sched::ScalingReason::kCustom ? "load not known" : name_of(decision.reason);
  if (decision.nodes == shown_.wanted) return;
  tell("service.scaled",
       fmt::format("{}: {} instead of {} replicas: {}", config_.name, decision.nodes, shown_.wanted, name_of(decision.reason)));
  shown_.wanted = decision.nodes;
}

void ReplicaSet::begin(const std::string& place, Instant now) {
  JobRequest request = config_.job;
  const auto tag = [&request](std::string_view key, std::string_view value) { request.tags.emplace_back(key, value); };
  tag(kServiceTag, config_.name);
  tag(kPlaceTag, place);
  tag(kVersionTag, version_);
  std::ranges::sort(request.tags);
  request.environment.emplace_back("STINT_LISTEN", place);
  if (config_.proof && !key_.empty()) request.environment.emplace_back(kReplicaSecret, replica_secret(key_, config_.name, place));
  if (request.simulated_duration == Duration()) request.simulated_duration = kSimulated;
  const Result<JobView> begun =
      answer_of<JobView>([&](auto answer) { service_.submit(std::move(request), kByServices, std::move(answer)); });
  if (!begun.ok()) return fail(fmt::format("a replica could not be submitted: {}", begun.error().message), now);
  // It may have ended before the next look.
  memories_[begun->id] = {.name = public_id(*begun), .place = place};
}

/// One that cannot be taken back now is, at the next look.
void ReplicaSet::stop(int64_t job) { memories_[job].stopped = stop_replica(service_, job).ok(); }

/// Somebody else may listen there.
void ReplicaSet::avoid(const std::string& place) {
  std::ranges::stable_partition(places_, [&place](const std::string& other) { return other != place; });
}

void ReplicaSet::fail(std::string why, Instant now) {
  failures_ = std::min(failures_ + 1, 10);
  not_before_ = now + std::min(kLongestReplicaPause, kFirstPause * (int64_t{1} << (failures_ - 1)));
  shown_.trouble = std::move(why);
  tell("service.trouble", fmt::format("{}: {}", config_.name, shown_.trouble));
}

void ReplicaSet::name_ready() {
  std::vector<std::string> ready;
  for (const Replica& replica : shown_.replicas)
    if (replica.phase == ReplicaPhase::kReady) ready.push_back(replica.place);
  if (config_.endpoints.empty() || named_ == ready) return;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  if (!ready.empty()) list.push_back({{"targets", ready}, {"labels", {{"service", config_.name}}}});
  if (const Status written = write_file_atomically(config_.endpoints, list.dump() + "\n"); written.ok())
    named_ = std::move(ready);
  else
    shown_.trouble = written.error().message;
}

void ReplicaSet::retire() {
  shown_.replicas.clear();
  name_ready();
}

void ReplicaSet::tell(std::string kind, std::string detail) {
  EventView notice;
  notice.kind = std::move(kind);
  notice.detail = std::move(detail);
  // Should that fail the log has failed, and the daemon says so itself.
  (void)answer_of<bool>([&](auto answer) { service_.append({}, {std::move(notice)}, std::move(answer)); });
}

}  // namespace stint
