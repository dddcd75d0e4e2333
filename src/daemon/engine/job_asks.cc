// What a job request asks of machines and neighbours, in the scheduler's terms.
#include "daemon/engine/job_asks.h"

#include <algorithm>

#include "base/check.h"
#include "base/has_element.h"
#include "base/nearest.h"
#include "base/text.h"
#include "daemon/api/job_groups.h"
#include "model/machine_labels.h"
#include "model/mig_ask.h"

namespace stint {
namespace {

/// Neighbours are of the job's own client: labels of another client's jobs tell nothing, and keep no job away.
const std::string kClientLabel = std::string(kOwnTags) + "client";

std::vector<sched::AffinityTerm> terms_of(const std::vector<std::string>& texts, std::string_view client) {
  std::vector<sched::AffinityTerm> terms;
  for (const std::string& text : texts) {
    Result<sched::AffinityTerm> term = parse_neighbour(text);
    CHECK(term.ok(), "neighbours that were accepted: {}", term.error().message);
    term->labels.push_back({kClientLabel, std::string(client)});
    terms.push_back(std::move(*term));
  }
  return terms;
}

}  // namespace

/// Of a part of a GPU: who else may have parts of it. A word is its client's own.
void JobAsks::put_neighbours(std::string_view client, const JobRequest& r, sched::Request& each) const {
  if (!r.shares_with.empty())
    each.shares_with = fmt::format("{}\n{}", client, r.shares_with);
  else if (!s_.fleet.govern.share_across_clients)
    each.shares_with = client;
  each.work_kind = r.work_kind;
  each.max_slowdown_percent = r.max_slowdown_percent;
  if (r.max_slowdown_percent < 0) return;
  for (const MeasuredPair& pair : s_.fleet.interference)
    if (pair.work == r.work_kind) each.slowdowns.push_back({.beside = pair.beside, .percent = pair.slowdown_percent});
}

/// @param needs  of the job itself, or of one of its groups
sched::Request JobAsks::request_of(std::string_view client, const JobRequest& r, const JobRequest& needs) const {
  sched::Request each;
  each.gpus = needs.gpus;
  each.milli = needs.gpu_milli;
  each.gpu_memory = needs.gpu_memory;
  each.mig = mig_asks_of(needs.mig_profile);
  if (needs.gpu_milli > 0 || needs.gpu_memory.count() > 0) put_neighbours(client, needs, each);
  each.cpu_milli = needs.cpu_milli;
  each.memory = needs.memory;
  each.gpu_models = needs.gpu_models;
  each.node_labels = needs.node_labels;
  each.affinity = terms_of(r.affinity, client);
  each.anti_affinity = terms_of(r.anti_affinity, client);
  each.labels = r.labels;
  if (!r.labels.empty()) each.labels.push_back({kClientLabel, std::string(client)});
  if (restricts(s_.fleet.govern, client)) {
    each.only_allowed_nodes = true;
    each.allowed_nodes = s_.governance.allowed_nodes(client);
  }
  if (!r.machines.empty()) {
    std::erase_if(each.allowed_nodes,
                  [&](const std::string& name) { return std::ranges::find(r.machines, name) == r.machines.end(); });
    if (!each.only_allowed_nodes) each.allowed_nodes = r.machines;
    each.only_allowed_nodes = true;
  }
  return each;
}

Status JobAsks::check_domains(const JobRequest& r) const {
  if (s_.machines_come) return {};
  std::vector<std::string> known = {"node"};
  for (const NodeBook& node : s_.nodes)
    if (node.is_machine())
      for (const Label& label : labelled(node.machine).labels)
        if (!has_element(known, label.key)) known.push_back(label.key);
  std::ranges::sort(known);
  const auto check = [&](std::string_view field, const std::string& label) -> Status {
    if (label.empty() || has_element(known, label)) return {};
    return invalid("field '{}': no machine has a label '{}'{}", field, excerpt(label), what_exists(label, known));
  };
  TRY(check("required_topology", r.required_topology));
  TRY(check("preferred_topology", r.preferred_topology));
  for (const JobGroup& group : r.groups) {
    TRY(check("required_topology", group.each.required_topology));
    TRY(check("preferred_topology", group.each.preferred_topology));
  }
  for (const auto& [field, terms] : {std::pair("affinity", &r.affinity), std::pair("anti_affinity", &r.anti_affinity)})
    for (const std::string& text : *terms) {
      TRY_ASSIGN(const sched::AffinityTerm term, parse_neighbour(text));
      TRY(check(field, term.topology_key));
    }
  return {};
}

/// The levels of the configuration where they are meant, else the labels that are named.
sched::TopologyWish JobAsks::topology_of(const JobRequest& r) const {
  sched::TopologyWish wish{.required_level = r.required_topology, .preferred_level = r.preferred_topology, .levels = {}};
  bool configured = true;
  for (const std::string* level : {&r.required_topology, &r.preferred_topology}) {
    if (level->empty()) continue;
    configured &= has_element(s_.fleet.topology, *level);
    if (!has_element(wish.levels, *level)) wish.levels.push_back(*level);
  }
  if (configured && !wish.levels.empty()) wish.levels = s_.fleet.topology;
  return wish;
}

/// What its tasks ask for, and in which groups and domains.
void JobAsks::put_tasks(std::string_view client, const JobRequest& r, sched::Scheduler& scheduler, sched::JobSpec& spec) const {
  spec.tasks = r.tasks;
  spec.min_tasks = least_tasks(r);
  sched::Gang gang;
  gang.topology = topology_of(r);
  for (const JobGroup& group : r.groups) {
    const auto above = std::ranges::find(r.groups, group.within, &JobGroup::name);
    const bool leaf = !holds_groups(r, group);
    gang.groups.push_back({.parent = group.within.empty() ? -1 : static_cast<int32_t>(above - r.groups.begin()),
                           .min_tasks = leaf ? least_tasks(group.each) : 0,
                           .topology = topology_of(group.each)});
    if (!leaf) continue;
    const sched::RequestId each = scheduler.intern(request_of(client, r, group.each));
    const auto number = static_cast<int32_t>(gang.groups.size()) - 1;
    gang.tasks.insert(gang.tasks.end(), static_cast<size_t>(group.each.tasks), {.request = each, .group = number, .priority = 0});
  }
  spec.request = gang.tasks.empty() ? scheduler.intern(request_of(client, r, r)) : gang.tasks.front().request;
  if (!gang.groups.empty() || !gang.topology.levels.empty()) spec.gang = scheduler.intern(gang);
}

sched::ProductId JobAsks::product_of(std::string_view client, const std::string& makes) {
  const auto next = static_cast<int64_t>(products_.size());
  return sched::ProductId(static_cast<uint32_t>(products_.try_emplace(fmt::format("{}\n{}", client, makes), next).first->second));
}

}  // namespace stint
