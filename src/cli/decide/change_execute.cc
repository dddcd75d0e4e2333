#include "cli/decide/change_execute.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/counted.h"
#include "base/text.h"
#include "cli/run/daemon_client.h"
#include "codec/changes/change_file.h"
#include "model/change_machines.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

/// What the daemon does not reach, and what to do instead.
std::string beyond_reach(const Change& change) {
  if (const auto* share = std::get_if<ShareGpus>(&change); share != nullptr && share->mode == SharingMode::kMig)
    return "the daemon hands MIG devices out and cuts none: drain the machine, cut its GPUs with the commands below, and start "
           "the daemon again";
  if (std::holds_alternative<ShareGpus>(change))
    return "jobs ask for their part themselves: `stint submit --gpu-milli`, beside the commands below";
  if (std::holds_alternative<SwitchMarket>(change) || std::holds_alternative<Commit>(change) ||
      std::holds_alternative<SavingsPlan>(change))
    return "it is bought of the provider, which the daemon does not do for machines of its configuration: with the commands "
           "below";
  if (std::holds_alternative<ResizeNodes>(change) || std::holds_alternative<MoveRegion>(change) ||
      std::holds_alternative<MoveOffGpu>(change))
    return "others have to be there first: make them with the commands below, then `stop:` the old ones with --execute";
  return "by hand, with the commands below";
}

/// What is left when the daemon has done its part; "" = nothing.
/// @param all_switched  by the daemon, the machines that it names.
std::string left_of(const Change& change, const std::vector<std::string>& machines, bool all_switched) {
  if (const auto* limit = std::get_if<LimitReservation>(&change))
    return fmt::format(
        "{}: what else keeps machines of it for longer (a reservation, a user's script) is by hand, with the commands below",
        limit->workload);
  const bool is_schedule = std::holds_alternative<ScheduleOff>(change);
  if (all_switched && (is_schedule || !machines.empty())) return "";
  if (is_schedule)
    return fmt::format("{}: a machine at rest stays on and is paid for until the commands below switch it off", describe(change));
  if (machines.empty()) return fmt::format("{}: {}", describe(change), beyond_reach(change));
  return fmt::format("{}: once nothing runs there, give the machines back with the commands below", describe(change));
}

Result<Instant> answer_time(const Json& answer, const char* field) {
  if (!answer.is_object() || !answer.contains(field) || !answer[field].is_string())
    return invalid("the daemon's answer has no '{}': is it older than this program?", field);
  return parse_instant(answer[field].get<std::string>());
}

}  // namespace

std::string change_key(const Proposal& proposal) {
  if (!proposal.id.empty()) return proposal.id;
  Proposal bare;
  bare.changes = proposal.changes;
  Fnv1a hash;
  hash.update(write_proposals({&bare, 1}));
  return fmt::format("change-{:016x}", hash.digest());
}

namespace {

/// What the daemon is asked for at once: machines that rest in the same hours. By its name there.
using ExecutionParts = std::map<std::string, std::vector<const MachineStep*>>;

/// Limits go with the machines that rest always, whether there are any or not.
ExecutionParts execution_parts(const Proposal& proposal, const ExecutionPlan& plan) {
  const std::string key = change_key(proposal);
  std::vector<WeekHours> hours;  // in order of the first machine
  ExecutionParts parts;
  if (!plan.replicas.empty() || !plan.time_limits.empty()) parts[key];
  for (const MachineStep& step : plan.machines) {
    if (!step.is_known()) continue;
    if (step.off.none()) {
      parts[key].push_back(&step);
      continue;
    }
    auto place = std::ranges::find(hours, step.off);
    if (place == hours.end()) place = hours.insert(place, step.off);
    parts[fmt::format("{}.hours-{}", key, place - hours.begin() + 1)].push_back(&step);
  }
  return parts;
}

Json wish_of(const Proposal& proposal, const ExecutionPlan& plan, const std::vector<const MachineStep*>& machines) {
  Json wish = {{"title", proposal.title}, {"machines", Json::array()}};
  for (const MachineStep* step : machines)
    wish["machines"].push_back(step->name);
  const WeekHours off = machines.empty() ? WeekHours() : machines.front()->off;
  for (const ReplicaStep& step : plan.replicas)
    if (off.none()) wish["replicas"][step.service] = step.most;
  for (const auto& [job, limit] : plan.time_limits)
    if (off.none()) wish["time_limits_s"][job] = limit.whole_seconds();
  for (size_t hour = 0; hour < off.size(); ++hour)
    if (off.test(hour)) wish["off_hours_of_week"].push_back(hour);
  return wish;
}

Result<Json> list_of(DaemonClient& daemon, const char* path, const char* field) {
  TRY_ASSIGN(Json body, daemon.get(path));
  if (!body.is_object() || !body.contains(field) || !body[field].is_array())
    return invalid("the daemon's answer to {} has no '{}': is it older than this program?", path, field);
  return std::move(body[field]);
}

/// Services that have replicas on machines of `fewer`: so many fewer there may be.
Result<std::vector<ReplicaStep>> replica_steps(DaemonClient& daemon, const Json& nodes, const std::set<std::string>& fewer) {
  std::set<std::string> jobs;
  for (const Json& node : nodes)
    if (fewer.contains(node.value("name", "")) && node.contains("jobs") && node["jobs"].is_array())
      for (const Json& job : node["jobs"])
        if (job.is_string()) jobs.insert(job.get<std::string>());
  std::vector<ReplicaStep> steps;
  if (jobs.empty()) return steps;
  TRY_ASSIGN(const Json services, list_of(daemon, "/v1/services", "services"));
  for (const Json& service : services) {
    if (!service.is_object() || !service.contains("replicas") || !service["replicas"].is_array()) continue;
    const int64_t gone =
        std::ranges::count_if(service["replicas"], [&](const Json& r) { return jobs.contains(r.value("job", "")); });
    const int64_t now = service.value("max", int64_t{0});
    if (gone > 0 && now > 1)
      steps.push_back({.service = service.value("name", ""), .now = now, .most = std::max<int64_t>(1, now - gone)});
  }
  std::ranges::sort(steps, {}, &ReplicaStep::service);
  return steps;
}

/// That places work itself and is told which machines rest; "" = none, or the daemon is older than this.
Result<std::string> cluster_of(DaemonClient& daemon) {
  TRY_ASSIGN(const Json body, daemon.get("/v1/changes"));
  if (!body.is_object() || !body.contains("cluster") || !body["cluster"].is_object()) return std::string();
  return body["cluster"].value("name", "");
}

/// Those that the daemon switches on and off itself.
Result<std::set<std::string>> switched_machines(DaemonClient& daemon) {
  std::set<std::string> names;
  TRY_ASSIGN(const Json machines, list_of(daemon, "/v1/capacity", "machines"));
  for (const Json& machine : machines)
    names.insert(machine.value("name", ""));
  return names;
}

}  // namespace

Result<ExecutionPlan> plan_execution(DaemonClient& daemon, const Proposal& proposal, const FleetPlan& fleet) {
  ExecutionPlan plan;
  TRY_ASSIGN(const std::set<std::string> switched, switched_machines(daemon));
  std::set<std::string> fewer;             // machines of changes that leave the others the work
  std::map<std::string, WeekHours> names;  // none = always, whatever else is asked of it
  FleetPlan so_far = fleet;
  for (const Change& change : proposal.changes) {
    const std::vector<std::string> machines = given_up(change, so_far);
    for (const std::string& machine : machines)
      names[machine].reset();
    if (std::holds_alternative<ResizeNodes>(change)) fewer.insert(machines.begin(), machines.end());
    if (const auto* limit = std::get_if<LimitReservation>(&change); limit != nullptr && limit->to.whole_seconds() > 0)
      plan.time_limits.emplace(limit->workload, limit->to);
    if (const auto* schedule = std::get_if<ScheduleOff>(&change); schedule != nullptr && schedule->off.any())
      for (const std::string& machine : schedule->nodes)
        if (const auto [known, is_new] = names.try_emplace(machine, schedule->off); !is_new && known->second.any())
          known->second |= schedule->off;
    const bool all_switched = std::ranges::all_of(std::holds_alternative<ScheduleOff>(change) ? nodes_of(change) : machines,
                                                  [&](const std::string& machine) { return switched.contains(machine); });
    if (std::string left = left_of(change, machines, all_switched); !left.empty()) plan.by_hand.push_back(std::move(left));
    (void)carry_out(so_far, change).ok();
  }
  TRY_ASSIGN(plan.cluster, cluster_of(daemon));
  TRY_ASSIGN(const Json nodes, list_of(daemon, "/v1/nodes", "nodes"));
  TRY_ASSIGN(plan.replicas, replica_steps(daemon, nodes, fewer));
  for (const auto& [name, off] : names) {
    MachineStep step{.name = name, .state = "", .off = off, .is_switched = switched.contains(name)};
    for (const Json& node : nodes)
      if (node.value("name", "") == name) {
        step.state = node.value("state", "");
        step.jobs = node.contains("jobs") ? node["jobs"].size() : 0;
      }
    plan.machines.push_back(std::move(step));
  }
  return plan;
}

namespace {

std::string_view of_the_cluster(const ExecutionPlan& plan) {
  if (plan.cluster == "slurm") return ", of Slurm's users neither (scontrol: DRAIN)";
  return "";
}

}  // namespace

std::string execution_text(const ExecutionPlan& plan) {
  std::string text;
  for (const MachineStep& step : plan.machines) {
    if (!step.is_known())
      text += fmt::format("# {}: no machine of this daemon: by hand\n", step.name);
    else if (step.off.any())
      text +=
          fmt::format("# {}: takes no new work{} in {} of the week's 168 hours; what runs there ends by itself{}\n", step.name,
                      of_the_cluster(plan), step.off.count(), step.is_switched ? ", then it is off until they end" : "");
    else if (step.is_to_do())
      text += fmt::format("# {}: up → takes no new work{}{}{}\n", step.name, of_the_cluster(plan),
                          step.jobs == 0 ? "" : fmt::format("; {} there to the end", counted(step.jobs, "job runs", "jobs run")),
                          step.is_switched ? "; then it is switched off" : "");
    else
      text += fmt::format("# {}: {} already: nothing to do\n", step.name, step.state);
  }
  for (const ReplicaStep& step : plan.replicas)
    text += fmt::format("# service {}: at most {} in place of {}; those on machines that are given up go first\n", step.service,
                        counted(step.most, "replica"), step.now);
  for (const auto& [job, limit] : plan.time_limits)
    text += fmt::format("# jobs named {}: run for {} h at most, from the next that is submitted\n", job, limit.to_hours());
  for (const std::string& line : plan.by_hand)
    text += "# " + line + "\n";
  return text;
}

Json execution_json(const std::string& key, const ExecutionPlan& plan) {
  Json machines = Json::array();
  for (const MachineStep& step : plan.machines)
    machines.push_back({{"name", step.name},
                        {"state", step.is_known() ? Json(step.state) : Json()},
                        {"jobs", step.jobs},
                        {"hours_off_a_week", step.off.none() ? Json() : Json(step.off.count())},
                        {"switched_off", step.is_known() && step.is_switched},
                        {"does", !step.is_known()  ? "by-hand"
                                 : step.off.any()  ? "schedule"
                                 : step.is_to_do() ? "drain"
                                                   : "nothing"}});
  Json replicas = Json::array(), limits = Json::array();
  for (const ReplicaStep& step : plan.replicas)
    replicas.push_back({{"service", step.service}, {"now", step.now}, {"most", step.most}});
  for (const auto& [job, limit] : plan.time_limits)
    limits.push_back({{"job", job}, {"seconds", limit.whole_seconds()}});
  return {{"change", key},
          {"machines", std::move(machines)},
          {"replicas", std::move(replicas)},
          {"time_limits", std::move(limits)},
          {"cluster", plan.cluster.empty() ? Json() : Json(plan.cluster)},
          {"by_hand", plan.by_hand}};
}

Result<Instant> execute(DaemonClient& daemon, const Proposal& proposal, const ExecutionPlan& plan) {
  const ExecutionParts parts = execution_parts(proposal, plan);
  if (parts.empty())
    return make_error(
        ErrorCode::kNotFound,
        "the daemon can do nothing of it: {}. Without --execute the commands for the rest are printed, and the change is "
        "recorded",
        !plan.machines.empty() ? std::string("none of its machines is the daemon's")
        : plan.by_hand.empty() ? std::string("it gives no machine up as it is")
                               : fmt::format("it gives no machine up as it is ({})", fmt::join(plan.by_hand, "; ")));
  std::optional<Instant> begun;
  for (const auto& [key, machines] : parts) {
    TRY_ASSIGN(const Json answer, daemon.send("PUT", "/v1/changes/" + key, wish_of(proposal, plan, machines)));
    TRY_ASSIGN(const Instant at, answer_time(answer, "at"));
    begun = std::min(begun.value_or(at), at);
  }
  return *begun;
}

Result<Instant> take_back(DaemonClient& daemon, const Proposal& proposal) {
  const std::string key = change_key(proposal);
  TRY_ASSIGN(const Json body, daemon.get("/v1/changes"));
  if (!body.is_object() || !body.contains("changes") || !body["changes"].is_array())
    return invalid("the daemon's answer names no changes: is it older than this program?");
  std::vector<std::string> parts;
  for (const Json& change : body["changes"])
    if (const std::string id = change.value("id", ""); id.starts_with(key + ".hours-") || id == key) parts.push_back(id);
  if (parts.empty()) parts.push_back(key);  // the daemon says that there is none
  std::optional<Instant> undone;
  for (const std::string& id : parts) {
    TRY_ASSIGN(const Json answer, daemon.send("DELETE", "/v1/changes/" + id, nullptr));
    TRY_ASSIGN(const Instant at, answer_time(answer, "undone_at"));
    undone = std::max(undone.value_or(at), at);
  }
  return *undone;
}

}  // namespace stint
