// Choosing victims by quota, by the scheduler that runs live: a cohort is a queue above its queues, what is nominal is what a queue
// deserves, and one machine has as much as all quotas together.
//
// The live scheduler knows one rule for all queues: lower priority gives way within a queue, and what a queue deserves comes back
// from any that holds more. A case that turns on another rule says nothing about it: not applicable, with the rule.
#include <algorithm>
#include <map>

#include "sched/scheduler.h"
#include "sim/case_quota.h"

namespace stint {
namespace {

using namespace sched;

/// The rule of the case that the scheduler does not have; empty = it has all.
std::string foreign_rule(const VictimCase& c) {
  if (c.fair_sharing) return "fair sharing by the largest part above nominal: shares are divided, not compared so";
  const auto own = std::ranges::find(c.queues, c.incoming.queue, &VictimCase::Queue::name);
  if (own == c.queues.end()) return "the incoming workload has no queue";
  if (own->may_borrow) return "borrowWithinCohort: a borrower never stops others for it";
  if (own->within_queue == "LowerOrNewerEqualPriority")
    return "withinClusterQueue LowerOrNewerEqualPriority: equals do not stop each other";
  if (own->reclaim_within_cohort.starts_with("Lower"))
    return "reclaimWithinCohort by priority: what is deserved comes back from all";
  std::string flavor;
  const auto foreign = [&](const std::vector<VictimCase::Quota>& quotas) -> std::string {
    for (const VictimCase::Quota& q : quotas) {
      if (q.lending_limit) return "a lending limit: what is not used is lent whole";
      if (!flavor.empty() && flavor != q.flavor) return "quotas of several flavors: a queue has one quota for all machines";
      flavor = q.flavor;
    }
    return "";
  };
  for (const VictimCase::Cohort& cohort : c.cohorts)
    if (const std::string rule = foreign(cohort.quotas); !rule.empty()) return rule;
  for (const VictimCase::Queue& queue : c.queues)
    if (const std::string rule = foreign(queue.quotas); !rule.empty()) return rule;
  return "";
}

int64_t Amounts::* resource_of(const std::string& name) {
  return name == "memory" ? &Amounts::memory_bytes : &Amounts::cpu_milli;
}

/// Cohorts and queues of a case as queues of the scheduler.
class QuotaWorld {
 public:
  explicit QuotaWorld(const VictimCase& c) : case_(c), scheduler_(policy_of(c)) {
    for (const VictimCase::Cohort& cohort : c.cohorts)
      parents_[cohort.name] = cohort.parent;
    for (const VictimCase::Queue& queue : c.queues)
      if (!queue.cohort.empty()) parents_.try_emplace(queue.cohort);
    for (const VictimCase::Cohort& cohort : c.cohorts)
      count(cohort.name, cohort.quotas);
    for (const VictimCase::Queue& queue : c.queues) {
      parents_["queue " + queue.name] = queue.cohort;
      count("queue " + queue.name, queue.quotas);
    }
    for (const VictimCase::Queue& queue : c.queues)
      for (const VictimCase::Quota& q : queue.quotas)
        if (q.borrowing_limit) limits_["queue " + queue.name].*resource_of(q.resource) = q.nominal + *q.borrowing_limit;
    for (const auto& [name, parent] : parents_)
      id_of(name);
    NodeSpec node;
    node.name = "all";
    node.cpu_milli = all_.cpu_milli;
    node.memory = Bytes::of(all_.memory_bytes);
    node_ = scheduler_.add_node(node);
  }

  std::vector<VictimCase::Victim> run() {
    std::vector<JobId> admitted;
    Instant now = Instant::from_seconds(1'000'000'000);
    for (const VictimCase::Workload& w : case_.admitted) {
      admitted.push_back(add(w));
      scheduler_.observe(now = now + Duration::hours(2), {});
      CHECK(scheduler_.adopt(admitted.back(), std::span(&node_, 1)), "workload {} does not fit its quotas", w.name);
    }
    const JobId incoming = add(case_.incoming);
    const Event submitted{.kind = EventKind::kSubmit, .job = incoming, .task = {}, .node = {}, .until = {}};
    std::vector<VictimCase::Victim> victims;
    for (const Decision& d : scheduler_.step(now + Duration::hours(2), {{submitted}}))
      if (d.kind == DecisionKind::kEvict)
        victims.push_back({case_.admitted[static_cast<size_t>(std::ranges::find(admitted, d.job) - admitted.begin())].name,
                           d.reason == Reason::kReclaim ? "InCohortReclamation" : "InClusterQueue"});
    std::ranges::sort(victims);
    return victims;
  }

 private:
  static Policy policy_of(const VictimCase& c) {
    const auto own = std::ranges::find(c.queues, c.incoming.queue, &VictimCase::Queue::name);
    Policy policy;
    policy.order = Order::kFair;
    policy.backfill = Backfill::kNone;
    policy.placement = Placement::kBestFit;
    policy.victims = VictimOrder::kPriorityYoungest;
    policy.preempt = own->within_queue != "Never";
    policy.reclaim = own->reclaim_within_cohort != "Never";
    policy.consolidate = false;
    policy.ageing = {};
    policy.usage_half_life = {};
    return policy;
  }

  /// What is nominal below a cohort is its own, too.
  void count(const std::string& name, const std::vector<VictimCase::Quota>& quotas) {
    for (const VictimCase::Quota& q : quotas) {
      for (std::string at = name; !at.empty(); at = parents_[at])
        deserved_[at].*resource_of(q.resource) += q.nominal;
      all_.*resource_of(q.resource) += q.nominal;
    }
  }

  QueueId id_of(const std::string& name) {
    if (const auto known = ids_.find(name); known != ids_.end()) return known->second;
    QueueSpec spec;
    spec.name = name;
    if (const std::string& parent = parents_[name]; !parent.empty()) spec.parent = id_of(parent);
    const Amounts& deserved = deserved_[name];
    spec.deserved = {.gpu_milli = std::nullopt, .cpu_milli = deserved.cpu_milli, .memory_bytes = deserved.memory_bytes};
    if (const auto limit = limits_.find(name); limit != limits_.end()) {
      if (limit->second.cpu_milli > 0) spec.limit.cpu_milli = limit->second.cpu_milli;
      if (limit->second.memory_bytes > 0) spec.limit.memory_bytes = limit->second.memory_bytes;
    }
    return ids_[name] = scheduler_.add_queue(spec);
  }

  JobId add(const VictimCase::Workload& w) {
    Request request;
    for (const VictimCase::Amount& a : w.amounts) {
      if (a.resource == "memory")
        request.memory = request.memory + Bytes::of(a.amount);
      else
        request.cpu_milli += a.amount;
    }
    JobSpec spec;
    spec.queue = ids_.at("queue " + w.queue);
    spec.priority = w.priority;
    spec.request = scheduler_.intern(request);
    spec.checkpoint.interval = Duration::nanoseconds(1);
    return scheduler_.add(spec);
  }

  const VictimCase& case_;
  Scheduler scheduler_;
  std::map<std::string, std::string> parents_;  // of cohorts and queues; empty = none
  std::map<std::string, Amounts> deserved_;
  std::map<std::string, Amounts> limits_;
  std::map<std::string, QueueId> ids_;
  Amounts all_;
  NodeId node_;
};

}  // namespace

LiveVictims live_victims(const VictimCase& c) {
  if (std::string rule = foreign_rule(c); !rule.empty()) return {.not_applicable = std::move(rule), .victims = {}};
  return {.not_applicable = "", .victims = QuotaWorld(c).run()};
}

}  // namespace stint
