#include "documents/sched_case.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "codec/json_mistake.h"

namespace stint::sched {
namespace {

using CaseJson = nlohmann::json;
/// Thrown and caught in this file only, like the exceptions of the JSON library.
struct MalformedCase : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename T>
std::optional<T> optional_at(const CaseJson& o, const char* key) {
  const auto it = o.find(key);
  if (it == o.end() || it->is_null()) return std::nullopt;
  return it->get<T>();
}

template <typename T>
T value_or(const CaseJson& o, const char* key, T otherwise) {
  return optional_at<T>(o, key).value_or(std::move(otherwise));
}

/// GPUs, possibly a fraction, in milli.
int64_t to_milli(const CaseJson& gpus) {
  if (!gpus.is_number()) throw MalformedCase("an amount of GPUs is not a number: " + gpus.dump());
  return std::llround(gpus.get<double>() * 1000);
}

std::optional<int64_t> optional_milli(const CaseJson& o, const char* key) {
  const auto it = o.find(key);
  if (it == o.end() || it->is_null()) return std::nullopt;
  return to_milli(*it);
}

std::vector<Label> read_labels(const CaseJson& o, const char* key) {
  std::vector<Label> labels;
  if (const auto it = o.find(key); it != o.end())
    for (const auto& [name, value] : it->items())
      labels.push_back({name, value.get<std::string>()});
  return labels;
}

std::vector<MigAsk> read_mig(const CaseJson& o) {
  std::vector<MigAsk> mig;
  if (const auto it = o.find("mig"); it != o.end())
    for (const auto& [profile, count] : it->items())
      mig.push_back({profile, count.get<int32_t>()});
  return mig;
}

bool is_one_of(const CaseJson& o, const char* key, const char* yes, const char* no) {
  const std::string text = o.at(key).get<std::string>();
  if (text != yes && text != no) throw MalformedCase(fmt::format("{} is neither {} nor {}: {}", key, yes, no, text));
  return text == yes;
}

CaseNode read_node(const CaseJson& o) {
  CaseNode node;
  node.name = o.at("name");
  node.gpus = o.at("gpus");
  node.gpu_memory_mib = o.at("gpu_memory_mib");
  node.mig = read_mig(o);
  node.mig_strategy = value_or<std::string>(o, "mig_strategy", "");
  node.cpu_milli = o.at("cpu_milli");
  node.memory_bytes = o.at("memory_bytes");
  node.max_tasks = o.at("max_tasks");
  node.labels = read_labels(o, "labels");
  if (node.gpus < 0) throw MalformedCase(fmt::format("node {} has {} GPUs", node.name, node.gpus));
  return node;
}

CaseQueue read_queue(const CaseJson& o) {
  CaseQueue queue;
  queue.name = o.at("name");
  queue.parent = value_or<std::string>(o, "parent", "");
  queue.spec.name = queue.name;
  queue.spec.deserved = {optional_milli(o, "deserved_gpus"), optional_at<int64_t>(o, "deserved_cpu_milli"),
                         optional_at<int64_t>(o, "deserved_memory_bytes")};
  queue.spec.limit = {optional_milli(o, "limit_gpus"), optional_at<int64_t>(o, "limit_cpu_milli"),
                      optional_at<int64_t>(o, "limit_memory_bytes")};
  queue.spec.over_quota_weight = o.at("over_quota_weight");
  queue.spec.priority = o.at("priority");
  queue.spec.created = o.at("created");
  return queue;
}

CaseTopologyWish read_topology_wish(const CaseJson& o) {
  const auto it = o.find("topology");
  if (it == o.end() || it->is_null()) return {};
  return {it->at("topology"), value_or<std::string>(*it, "required_level", ""),
          value_or<std::string>(*it, "preferred_level", "")};
}

void read_groups(const CaseJson& list, int32_t parent, std::vector<CaseGroup>& out) {
  for (const CaseJson& o : list) {
    const auto index = static_cast<int32_t>(out.size());
    out.push_back({o.at("name"), parent, value_or<int32_t>(o, "min_tasks", 0), read_topology_wish(o)});
    if (const auto it = o.find("children"); it != o.end()) read_groups(*it, index, out);
  }
}

std::vector<AffinityTerm> read_affinity(const CaseJson& o, const char* key) {
  const auto it = o.find(key);
  if (it == o.end() || it->is_null()) return {};
  const CaseJson list = it->is_array() ? *it : CaseJson::array({*it});
  std::vector<AffinityTerm> terms;
  for (const CaseJson& term : list)
    terms.push_back({read_labels(term, "labels"), term.at("topology_key")});
  return terms;
}

CaseTask read_task(const CaseJson& o) {
  CaseTask task;
  task.id = o.at("id");
  task.state = o.at("state");
  static const std::set<std::string> kStates = {"pending", "running", "releasing", "failed", "nominated"};
  if (!kStates.contains(task.state)) throw MalformedCase(fmt::format("task {} has the unknown state {}", task.id, task.state));
  task.node = value_or<std::string>(o, "node", "");
  const int64_t milli = to_milli(o.at("gpus"));
  Request& request = task.request;
  if (milli % 1000 == 0)
    request.gpus = static_cast<int32_t>(milli / 1000);
  else if (milli < 1000)
    request.milli = static_cast<int32_t>(milli);
  else
    throw MalformedCase(fmt::format("task {} asks for {} GPUs; a fraction is below 1", task.id, o.at("gpus").dump()));
  request.gpu_memory = Bytes::mebi(value_or<int64_t>(o, "gpu_memory_mib", 0));
  request.mig = read_mig(o);
  request.cpu_milli = o.at("cpu_milli");
  request.memory = Bytes::of(o.at("memory_bytes").get<int64_t>());
  request.only_allowed_nodes = o.contains("allowed_nodes");
  if (request.only_allowed_nodes) request.allowed_nodes = o.at("allowed_nodes").get<std::vector<std::string>>();
  request.labels = read_labels(o, "labels");
  request.affinity = read_affinity(o, "affinity");
  request.anti_affinity = read_affinity(o, "anti_affinity");
  task.gpu_group = value_or<std::string>(o, "gpu_group", "");
  task.group = value_or<std::string>(o, "group", "");
  task.priority = value_or<int32_t>(o, "priority", 0);
  return task;
}

CaseJob read_job(const CaseJson& o) {
  CaseJob job;
  job.name = o.at("name");
  job.queue = o.at("queue");
  job.priority = o.at("priority");
  job.preemptible = o.at("preemptible");
  job.age_minutes = o.at("age_minutes");
  job.min_tasks = o.at("min_tasks");
  if (const auto it = o.find("groups"); it != o.end()) read_groups(*it, -1, job.groups);
  job.topology = read_topology_wish(o);
  job.stale_for_s = optional_at<int64_t>(o, "stale_for_s");
  job.deleted_when_evicted = value_or<bool>(o, "deleted_when_evicted", false);
  for (const CaseJson& task : o.at("tasks"))
    job.tasks.push_back(read_task(task));
  if (job.tasks.empty()) throw MalformedCase(fmt::format("job {} has no tasks", job.name));
  return job;
}

std::map<std::string, CaseExpectation> read_expectations(const CaseJson& o, const char* key) {
  std::map<std::string, CaseExpectation> out;
  if (const auto it = o.find(key); it != o.end())
    for (const auto& [name, e] : it->items())
      out[name] = {value_or<std::string>(e, "state", ""),
                   value_or<std::string>(e, "node", ""),
                   value_or<std::string>(e, "gpu_group", ""),
                   optional_at<int64_t>(e, "tasks"),
                   optional_milli(e, "gpus"),
                   optional_milli(e, "gpus_granted")};
  return out;
}

ClusterCase::Expect read_cluster_expect(const CaseJson& o) {
  ClusterCase::Expect expect;
  const CaseJson& strict = o.at("strict");
  expect.jobs = read_expectations(strict, "jobs");
  expect.tasks = read_expectations(strict, "tasks");
  expect.victims = optional_at<std::vector<std::string>>(strict, "victims");
  if (const auto it = strict.find("nodes"); it != strict.end())
    for (const auto& [name, e] : it->items())
      expect.nodes[name] = {optional_at<int64_t>(e, "idle_gpus"), optional_at<int64_t>(e, "releasing_gpus")};
  if (const auto it = strict.find("per_round"); it != strict.end())
    expect.per_round = {optional_at<int64_t>(*it, "max_binds"), optional_at<int64_t>(*it, "max_evictions"),
                        optional_at<int64_t>(*it, "max_nominations")};
  if (const auto it = o.find("tie_break"); it != o.end()) {
    expect.has_tie_break = true;
    expect.tie_break_jobs = read_expectations(*it, "jobs");
    expect.tie_break_tasks = read_expectations(*it, "tasks");
    expect.moved = optional_at<std::vector<std::string>>(*it, "moved");
  }
  return expect;
}

/// What names other things names things that are there.
void check_case_names(const ClusterCase& c) {
  std::set<std::string> nodes;
  std::set<std::string> queues;
  for (const CaseNode& node : c.nodes)
    if (!nodes.insert(node.name).second) throw MalformedCase("two nodes are named " + node.name);
  for (const CaseQueue& queue : c.queues)
    if (!queues.insert(queue.name).second) throw MalformedCase("two queues are named " + queue.name);
  for (const CaseQueue& queue : c.queues)
    if (!queue.parent.empty() && !queues.contains(queue.parent))
      throw MalformedCase(fmt::format("queue {} has the unknown parent {}", queue.name, queue.parent));
  const auto check_wish = [&](const CaseTopologyWish& wish) {
    if (!wish.topology.empty() && !c.topologies.contains(wish.topology)) throw MalformedCase("unknown topology " + wish.topology);
  };
  for (const CaseJob& job : c.jobs) {
    if (!queues.contains(job.queue)) throw MalformedCase(fmt::format("job {} is in the unknown queue {}", job.name, job.queue));
    check_wish(job.topology);
    for (const CaseGroup& group : job.groups)
      check_wish(group.topology);
    for (const CaseTask& task : job.tasks) {
      const bool needs_node = task.state == "running" || task.state == "releasing" || task.state == "nominated";
      if (needs_node && !nodes.contains(task.node))
        throw MalformedCase(fmt::format("task {} is on the unknown node '{}'", task.id, task.node));
      const auto is_group = [&](const CaseGroup& group) { return group.name == task.group; };
      if (!task.group.empty() && std::none_of(job.groups.begin(), job.groups.end(), is_group))
        throw MalformedCase(fmt::format("task {} is in the unknown group {}", task.id, task.group));
    }
  }
}

ClusterCase read_cluster(const CaseJson& o) {
  ClusterCase c;
  c.single_step = is_one_of(o, "mode", "single_step", "rounds");
  c.steps = o.at("steps").get<std::vector<std::string>>();
  static const std::set<std::string> kSteps = {"allocate", "consolidation", "reclaim", "preempt", "stale_gang"};
  for (const std::string& step : c.steps)
    if (!kSteps.contains(step)) throw MalformedCase("unknown step " + step);
  c.rounds = o.at("rounds");
  c.stable_rounds = o.at("stable_rounds");
  c.stale_grace_s = value_or<int64_t>(o, "stale_grace_s", 0);
  const CaseJson& placement = o.at("placement");
  c.spread_gpu_nodes = is_one_of(placement, "node_gpu", "spread", "binpack");
  c.spread_cpu_nodes = is_one_of(placement, "node_cpu", "spread", "binpack");
  c.spread_shared_gpus = is_one_of(placement, "shared_gpu", "spread", "pack");
  if (const auto it = o.find("topologies"); it != o.end())
    for (const CaseJson& topology : *it)
      c.topologies[topology.at("name")] = topology.at("levels").get<std::vector<std::string>>();
  for (const CaseJson& node : o.at("nodes"))
    c.nodes.push_back(read_node(node));
  for (const CaseJson& queue : o.at("queues"))
    c.queues.push_back(read_queue(queue));
  for (const CaseJson& job : o.at("jobs"))
    c.jobs.push_back(read_job(job));
  c.expect = read_cluster_expect(o.at("expect"));
  check_case_names(c);
  return c;
}

FairShareCase read_fair_share(const CaseJson& o) {
  FairShareCase c;
  c.total = o.at("total");
  c.k_value = o.at("k_value");
  c.over_quota_only = is_one_of(o, "phase", "over_quota", "full");
  for (const CaseJson& q : o.at("queues"))
    c.queues.push_back({q.at("queue"), optional_at<double>(q, "deserved"), optional_at<double>(q, "limit"), q.at("weight"),
                        q.at("request"), q.at("usage"), q.at("initial_share"), q.at("priority"), q.at("created")});
  const CaseJson& strict = o.at("expect").at("strict");
  c.share = strict.at("share").get<std::map<std::string, double>>();
  c.remaining = optional_at<double>(strict, "remaining");
  return c;
}

std::vector<VictimCase::Quota> read_quotas(const CaseJson& o) {
  std::vector<VictimCase::Quota> quotas;
  for (const CaseJson& flavor : o.at("quotas"))
    for (const auto& [resource, q] : flavor.at("resources").items())
      quotas.push_back({flavor.at("flavor"), resource, q.at("nominal"), optional_at<int64_t>(q, "borrowing_limit"),
                        optional_at<int64_t>(q, "lending_limit")});
  return quotas;
}

VictimCase::Queue read_victim_queue(const CaseJson& o) {
  VictimCase::Queue queue;
  queue.name = o.at("name");
  queue.cohort = value_or<std::string>(o, "cohort", "");
  queue.fair_weight = o.at("fair_weight");
  queue.quotas = read_quotas(o);
  const CaseJson& preemption = o.at("preemption");
  queue.within_queue = preemption.at("within_queue");
  queue.reclaim_within_cohort = preemption.at("reclaim_within_cohort");
  if (const auto it = preemption.find("borrow_within_cohort"); it != preemption.end() && !it->is_null()) {
    queue.may_borrow = true;
    queue.borrow_policy = it->at("policy");
    queue.borrow_max_priority = optional_at<int32_t>(*it, "max_priority_threshold");
  }
  return queue;
}

VictimCase::Workload read_workload(const CaseJson& o) {
  VictimCase::Workload w;
  w.name = o.at("name");
  w.uid = value_or<std::string>(o, "uid", "");
  w.queue = o.at("queue");
  w.priority = o.at("priority");
  w.created_s = o.at("created_s");
  w.reserved_s = value_or<int64_t>(o, "reserved_s", 0);
  w.already_evicted = value_or<bool>(o, "already_evicted", false);
  if (const auto it = o.find("usage"); it != o.end())
    for (const CaseJson& u : *it)
      w.amounts.push_back({u.at("flavor"), u.at("resource"), u.at("amount"), false});
  return w;
}

VictimCase read_victim_selection(const CaseJson& o) {
  VictimCase c;
  c.fair_sharing = o.at("fair_sharing");
  c.fair_strategies = value_or<std::vector<std::string>>(o, "fair_strategies", {});
  for (const CaseJson& cohort : o.at("cohorts"))
    c.cohorts.push_back(
        {cohort.at("name"), value_or<std::string>(cohort, "parent", ""), cohort.at("fair_weight"), read_quotas(cohort)});
  for (const CaseJson& queue : o.at("queues"))
    c.queues.push_back(read_victim_queue(queue));
  for (const CaseJson& workload : o.at("admitted"))
    c.admitted.push_back(read_workload(workload));
  const CaseJson& incoming = o.at("incoming");
  c.incoming = read_workload(incoming);
  for (const CaseJson& a : incoming.at("assignment"))
    c.incoming.amounts.push_back({a.at("flavor"), a.at("resource"),
                                  incoming.at("requests").at(a.at("resource").get<std::string>()),
                                  is_one_of(a, "mode", "preempt", "fit")});
  const CaseJson& strict = o.at("expect").at("strict");
  c.reasons = value_or<std::vector<std::string>>(strict, "reasons", {});
  c.victim_count = optional_at<int64_t>(strict, "victim_count");
  if (const auto it = strict.find("victims"); it != strict.end() && !it->is_null()) {
    c.victims.emplace();
    for (const CaseJson& victim : *it)
      c.victims->push_back({victim.at("name"), value_or<std::string>(victim, "reason", "")});
  }
  return c;
}

SchedCase read_case(const CaseJson& o, const std::string& kind) {
  SchedCase c;
  c.id = o.at("id");
  c.features = o.at("features").get<std::vector<std::string>>();
  if (kind == "cluster")
    c.what = read_cluster(o);
  else if (kind == "fair_share")
    c.what = read_fair_share(o);
  else
    c.what = read_victim_selection(o);
  return c;
}

}  // namespace
}  // namespace stint::sched

namespace stint {

Result<std::vector<sched::SchedCase>> read_sched_cases(std::string_view text) {
  std::vector<sched::SchedCase> cases;
  std::string where = "the file";
  try {
    const nlohmann::json file = nlohmann::json::parse(text);
    const std::string format = file.at("format");
    if (format != "sched-case/1") return invalid("format is '{}', not 'sched-case/1'", format);
    const std::string kind = file.at("kind");
    if (kind != "cluster" && kind != "fair_share" && kind != "victim_selection")
      return invalid("kind is '{}', none of cluster, fair_share, victim_selection", kind);
    for (const nlohmann::json& o : file.at("cases")) {
      where = fmt::format("case {} ({})", cases.size() + 1, o.value("id", "without id"));
      cases.push_back(sched::read_case(o, kind));
    }
  } catch (const nlohmann::json::exception& e) {
    return invalid("{}: {}", where, json_complaint(e.what()));
  } catch (const sched::MalformedCase& e) {
    return invalid("{}: {}", where, e.what());
  }
  return cases;
}

}  // namespace stint
