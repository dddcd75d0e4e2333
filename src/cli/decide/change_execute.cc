#include "cli/decide/change_execute.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/counted.h"
#include "base/text.h"
#include "cli/run/daemon_client.h"
#include "codec/changes/change_file.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

/// Machines that are no longer needed once the change took effect, and nothing else has to happen before.
std::vector<std::string> given_up(const Change& change, const FleetPlan& fleet) {
  if (const auto* stop = std::get_if<StopNodes>(&change)) return stop->nodes;
  const auto* resize = std::get_if<ResizeNodes>(&change);
  if (resize == nullptr || resize->to_count < 0 || resize->to_count >= std::ssize(resize->nodes)) return {};
  for (const std::string& name : resize->nodes) {
    const PlannedNode* node = fleet.find(name);
    const bool stays = node != nullptr && node->instance_type == resize->to_instance_type &&
                       (resize->to_region.empty() || resize->to_region == node->region);
    if (!stays) return {};  // others have to be there first
  }
  return {resize->nodes.begin() + resize->to_count, resize->nodes.end()};
}

/// What is left when the daemon has done its part; "" = nothing.
std::string left_of(const Change& change, const std::vector<std::string>& machines) {
  if (std::holds_alternative<ScheduleOff>(change))
    return fmt::format("{}: a machine at rest stays on and is paid for until the commands below switch it off", describe(change));
  if (machines.empty()) return fmt::format("{}: by hand, with the commands below", describe(change));
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

ExecutionParts execution_parts(const Proposal& proposal, const ExecutionPlan& plan) {
  const std::string key = change_key(proposal);
  std::vector<WeekHours> hours;  // in order of the first machine
  ExecutionParts parts;
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

Json wish_of(const Proposal& proposal, const std::vector<const MachineStep*>& machines) {
  Json wish = {{"title", proposal.title}, {"machines", Json::array()}};
  for (const MachineStep* step : machines)
    wish["machines"].push_back(step->name);
  const WeekHours& off = machines.front()->off;
  for (size_t hour = 0; hour < off.size(); ++hour)
    if (off.test(hour)) wish["off_hours_of_week"].push_back(hour);
  return wish;
}

}  // namespace

Result<ExecutionPlan> plan_execution(DaemonClient& daemon, const Proposal& proposal, const FleetPlan& fleet) {
  ExecutionPlan plan;
  std::map<std::string, WeekHours> names;  // none = always, whatever else is asked of it
  FleetPlan so_far = fleet;
  for (const Change& change : proposal.changes) {
    const std::vector<std::string> machines = given_up(change, so_far);
    for (const std::string& machine : machines)
      names[machine].reset();
    if (const auto* schedule = std::get_if<ScheduleOff>(&change); schedule != nullptr && schedule->off.any())
      for (const std::string& machine : schedule->nodes)
        if (const auto [known, is_new] = names.try_emplace(machine, schedule->off); !is_new && known->second.any())
          known->second |= schedule->off;
    plan.by_hand.push_back(left_of(change, machines));
    (void)carry_out(so_far, change).ok();
  }
  TRY_ASSIGN(const Json body, daemon.get("/v1/nodes"));
  if (!body.is_object() || !body.contains("nodes") || !body["nodes"].is_array())
    return invalid("the daemon's answer names no machines: is it older than this program?");
  for (const auto& [name, off] : names) {
    MachineStep step{.name = name, .state = "", .off = off};
    for (const Json& node : body["nodes"])
      if (node.value("name", "") == name) {
        step.state = node.value("state", "");
        step.jobs = node.contains("jobs") ? node["jobs"].size() : 0;
      }
    plan.machines.push_back(std::move(step));
  }
  return plan;
}

std::string execution_text(const ExecutionPlan& plan) {
  std::string text;
  for (const MachineStep& step : plan.machines) {
    if (!step.is_known())
      text += fmt::format("# {}: no machine of this daemon: by hand\n", step.name);
    else if (step.off.any())
      text += fmt::format("# {}: takes no new work in {} of the week's 168 hours; what runs there ends by itself\n", step.name,
                          step.off.count());
    else if (step.is_to_do())
      text += fmt::format("# {}: up → takes no new work{}\n", step.name,
                          step.jobs == 0 ? "" : fmt::format("; {} there to the end", counted(step.jobs, "job runs", "jobs run")));
    else
      text += fmt::format("# {}: {} already: nothing to do\n", step.name, step.state);
  }
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
                        {"does", !step.is_known()  ? "by-hand"
                                 : step.off.any()  ? "schedule"
                                 : step.is_to_do() ? "drain"
                                                   : "nothing"}});
  return {{"change", key}, {"machines", std::move(machines)}, {"by_hand", plan.by_hand}};
}

Result<Instant> execute(DaemonClient& daemon, const Proposal& proposal, const ExecutionPlan& plan) {
  const ExecutionParts parts = execution_parts(proposal, plan);
  if (parts.empty())
    return make_error(
        ErrorCode::kNotFound,
        "the daemon can do nothing of it: {}. Without --execute the commands for the rest are printed, and the change is "
        "recorded",
        plan.machines.empty() ? "it gives no machine up as it is" : "none of its machines is the daemon's");
  std::optional<Instant> begun;
  for (const auto& [key, machines] : parts) {
    TRY_ASSIGN(const Json answer, daemon.send("PUT", "/v1/changes/" + key, wish_of(proposal, machines)));
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
