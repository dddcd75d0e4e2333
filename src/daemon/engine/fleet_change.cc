#include "daemon/engine/fleet_change.h"

#include <algorithm>

#include "sched/policy_text.h"

namespace stint {

Result<FleetConfig> in_known_order(const EngineBooks& books, FleetConfig next) {
  std::vector<sched::QueueSpec> ordered;
  std::vector<std::string> parents;
  const auto take = [&](const sched::QueueSpec& queue) {
    ordered.push_back(queue);
    parents.push_back(queue.parent.valid() ? next.queues[queue.parent.index()].name : "");
  };
  for (const sched::QueueSpec& known : books.fleet.queues) {
    const auto found = std::ranges::find(next.queues, known.name, &sched::QueueSpec::name);
    if (found == next.queues.end())
      return make_error(
          ErrorCode::kConflict,
          "queue '{}' is gone, but jobs and bills name it: leave it in; \"limit_gpus\": 0 keeps its jobs from starting",
          known.name);
    take(*found);
  }
  for (const sched::QueueSpec& queue : next.queues)
    if (std::ranges::find(ordered, queue.name, &sched::QueueSpec::name) == ordered.end()) take(queue);
  for (size_t q = 0; q < ordered.size(); ++q) {
    const auto parent = std::ranges::find(ordered, parents[q], &sched::QueueSpec::name);
    ordered[q].parent = parents[q].empty() ? sched::QueueId() : sched::QueueId(static_cast<uint32_t>(parent - ordered.begin()));
  }
  next.queues = std::move(ordered);
  return next;
}

Result<FleetConfig> as_recorded(const EngineBooks& books, const FleetConfig& next) {
  TRY_ASSIGN(const FleetConfig ordered, in_known_order(books, next));
  return parse_fleet_config(to_json(ordered), "fleet");
}

Status check_fleet_change(const EngineBooks& books, const FleetConfig& next) {
  TRY_ASSIGN(const sched::Policy policy, sched::parse_policy(next.policy));
  if (books.scheduler && policy != *sched::parse_policy(books.fleet.policy))
    return make_error(
        ErrorCode::kConflict,
        "policy '{}': what waits and runs is ordered by '{}', and this log is read again under it; begin a new state "
        "folder to change it",
        next.policy, books.fleet.policy);
  for (size_t q = 0; q < books.fleet.queues.size(); ++q) {
    if (q >= next.queues.size() || next.queues[q].name != books.fleet.queues[q].name ||
        next.queues[q].parent != books.fleet.queues[q].parent)
      return make_error(ErrorCode::kConflict,
                        "queue '{}': it cannot get another parent: what it has cost was posted to its client",
                        books.fleet.queues[q].name);
    if (next.queues[q].budget != books.fleet.queues[q].budget)
      return make_error(ErrorCode::kConflict,
                        "queue '{}': its own budget cannot change while it is being spent; use one of govern.budgets, or `stint "
                        "budget set`",
                        books.fleet.queues[q].name);
  }
  if (books.scheduler && next.currency != books.fleet.currency)
    return make_error(ErrorCode::kConflict, "currency {}: what has run was posted in {}; begin a new state folder to change it",
                      next.currency.code(), books.fleet.currency.code());
  for (const Machine& node : next.nodes) {
    const auto known = books.node_ids.find(node.node.name);
    if (known != books.node_ids.end() && !is_same_but_price(node, books.nodes[known->second.index()].machine))
      return make_error(ErrorCode::kConflict,
                        "node '{}': a machine that is known can change its price only; give the new one a new name",
                        node.node.name);
  }
  return {};
}

}  // namespace stint
