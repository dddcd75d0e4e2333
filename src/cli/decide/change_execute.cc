#include "cli/decide/change_execute.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

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

std::vector<std::string> ExecutionPlan::known_machines() const {
  std::vector<std::string> names;
  for (const MachineStep& step : machines)
    if (step.is_known()) names.push_back(step.name);
  return names;
}

Result<ExecutionPlan> plan_execution(DaemonClient& daemon, const Proposal& proposal, const FleetPlan& fleet) {
  ExecutionPlan plan;
  std::set<std::string> names;
  FleetPlan so_far = fleet;
  for (const Change& change : proposal.changes) {
    const std::vector<std::string> machines = given_up(change, so_far);
    names.insert(machines.begin(), machines.end());
    plan.by_hand.push_back(left_of(change, machines));
    (void)carry_out(so_far, change).ok();
  }
  TRY_ASSIGN(const Json body, daemon.get("/v1/nodes"));
  if (!body.is_object() || !body.contains("nodes") || !body["nodes"].is_array())
    return invalid("the daemon's answer names no machines: is it older than this program?");
  for (const std::string& name : names) {
    MachineStep step{.name = name, .state = ""};
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
                        {"does", !step.is_known()  ? "by-hand"
                                 : step.is_to_do() ? "drain"
                                                   : "nothing"}});
  return {{"change", key}, {"machines", std::move(machines)}, {"by_hand", plan.by_hand}};
}

Result<Instant> execute(DaemonClient& daemon, const Proposal& proposal, const ExecutionPlan& plan) {
  const std::vector<std::string> machines = plan.known_machines();
  if (machines.empty())
    return make_error(
        ErrorCode::kNotFound,
        "the daemon can do nothing of it: {}. Without --execute the commands for the rest are printed, and the change is "
        "recorded",
        plan.machines.empty() ? "it gives no machine up as it is" : "none of its machines is the daemon's");
  TRY_ASSIGN(const Json answer,
             daemon.send("PUT", "/v1/changes/" + change_key(proposal), {{"title", proposal.title}, {"machines", machines}}));
  return answer_time(answer, "at");
}

Result<Instant> take_back(DaemonClient& daemon, const Proposal& proposal) {
  TRY_ASSIGN(const Json answer, daemon.send("DELETE", "/v1/changes/" + change_key(proposal), nullptr));
  return answer_time(answer, "undone_at");
}

}  // namespace stint
