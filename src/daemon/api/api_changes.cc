// Changes of the fleet, carried out on the daemon's own machines: what a plan gives up takes no new work, for good or in hours of the week, and what
// runs there ends by itself.
//
// Intent first: which machines, and which of them took work until then, is durable before the first is drained. So the same request again, and the
// daemon's next start, go on where one was cut short, do nothing twice, and undoing knows what was there before (carried_steps.h).
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/problem.h"
#include "daemon/carried_steps.h"
#include "daemon/cluster_rest.h"
#include "daemon/finding_book.h"
#include "daemon/finding_json.h"
#include "daemon/power/node_power.h"
#include "daemon/replicas/replica_keeper.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestTitle = 1'000;
constexpr size_t kMostMachines = 10'000;
constexpr size_t kLongestChangeId = 64;

/// What is asked for; by whom and when is still to come.
Result<CarriedChange> parse_change_wish(const Call& call) {
  static constexpr std::array<std::string_view, 5> kFields = {"title", "machines", "off_hours_of_week", "replicas",
                                                              "time_limits_s"};
  TRY_ASSIGN(const nlohmann::json body, body_object(call, kFields));
  CarriedChange wish{.title = {}, .by = {}, .at = {}};
  if (!body.contains("title") || !body["title"].is_string() || body["title"].get<std::string>().size() > kLongestTitle)
    return invalid("field 'title': give a text of at most {} bytes", kLongestTitle);
  wish.title = body["title"].get<std::string>();
  TRY(read_change_limits(body, "the change", wish));
  const bool is_of_machines = wish.replicas.empty() && wish.time_limits.empty();
  if (!body.contains("machines") && is_of_machines)
    return invalid("give 'machines', 'replicas' or 'time_limits_s': what the change asks for");
  const nlohmann::json machines = body.contains("machines") ? body["machines"] : nlohmann::json::array();
  if (!machines.is_array() || (machines.empty() && is_of_machines) || machines.size() > kMostMachines)
    return invalid("field 'machines': give 1 to {} names", kMostMachines);
  for (const nlohmann::json& name : machines) {
    if (!name.is_string() || name.get<std::string>().empty()) return invalid("field 'machines': give names");
    wish.machines.push_back(name.get<std::string>());
  }
  std::ranges::sort(wish.machines);
  const auto [first, last] = std::ranges::unique(wish.machines);
  wish.machines.erase(first, last);
  TRY_ASSIGN(wish.off, read_week_hours(body, "the change"));
  if (body.contains("off_hours_of_week") && (wish.off.none() || wish.machines.empty()))
    return invalid("field 'off_hours_of_week': give hours and machines, or leave it out for a rest without end");
  return wish;
}

bool is_name_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

Status check_change_id(const std::string& id) {
  const bool plain = !id.empty() && id.size() <= kLongestChangeId &&
                     std::ranges::all_of(id, [](char c) { return is_name_letter(c) || c == '-' || c == '_' || c == '.'; });
  if (plain) return {};
  return invalid("change '{}': an id is 1 to {} of a–z, A–Z, 0–9, '-', '_' and '.'", excerpt(id), kLongestChangeId);
}

/// Advice of the daemon's own audit is carried out once somebody has approved it.
Status check_approved(const ApiContext& api, const std::string& change) {
  const std::string id = change.substr(0, change.find('.'));  // a finding of several parts is approved as one
  TRY_ASSIGN(const auto audit, api.findings->audit());
  if (audit == nullptr || !audit->titles.contains(id)) return {};
  const auto decisions = api.findings->decisions();
  const auto decision = decisions.find(id);
  if (decision != decisions.end() && decision->second.decision == Decision::kApproved) return {};
  return make_error(ErrorCode::kConflict,
                    "finding {} is not approved: approve it on the page, or with POST /v1/findings/{}/decision, and ask again",
                    id, id);
}

using StepsDone = std::function<void(Status)>;

/// One machine after another, each durable before the next.
struct MachineSteps {
  ApiContext api;
  Call call;
  bool up = false;
  std::vector<std::string> left;  ///< from the back
  StepsDone done;
};

void next_step(const std::shared_ptr<MachineSteps>& steps) {
  if (steps->left.empty()) return steps->done({});
  const std::string machine = std::move(steps->left.back());
  steps->left.pop_back();
  const auto went = [steps](const Result<NodeView>& node) {
    if (!node.ok()) return steps->done(node.error());
    next_step(steps);
  };
  const CommandInfo by{.actor = steps->call->who.user, .idempotency_key = ""};
  if (!steps->up) return steps->api.service.drain_node(machine, by, went);
  NodePower* power = steps->api.options.power;
  if (power == nullptr) return steps->api.service.node_up(machine, by, went);
  power->want(machine, [steps, machine, by, went](bool comes) {
    if (comes) return next_step(steps);
    steps->api.service.node_up(machine, by, went);
  });
}

void run_steps(const ApiContext& api, const Call& call, bool up, std::vector<std::string> machines, StepsDone done) {
  std::ranges::reverse(machines);
  next_step(std::make_shared<MachineSteps>(MachineSteps{api, call, up, std::move(machines), std::move(done)}));
}

bool asks_the_same(const CarriedChange& a, const CarriedChange& b) {
  return a.machines == b.machines && a.off == b.off && a.replicas == b.replicas && a.time_limits == b.time_limits;
}

/// Replicas are of services that there are, and fewer than there may be by the configuration.
Status check_services(const ApiContext& api, const CarriedChange& wish) {
  for (const auto& [name, most] : wish.replicas) {
    const std::vector<ReplicaSetView> services =
        api.options.replicas == nullptr ? std::vector<ReplicaSetView>() : api.options.replicas->views();
    if (std::ranges::find(services, name, &ReplicaSetView::name) == services.end())
      return make_error(ErrorCode::kNotFound,
                        "no service {} whose replicas this daemon runs: where others run them, change their number there",
                        excerpt(name));
  }
  return {};
}

/// What the change asks for beside its machines: "; at most 6 replicas of vllm".
std::string limits_text(const CarriedChange& change) {
  std::string text;
  for (const auto& [service, most] : change.replicas)
    text += fmt::format("; at most {} of {}", counted(most, "replica"), service);
  for (const auto& [job, limit] : change.time_limits)
    text += fmt::format("; jobs named {} at most {} s", job, limit.whole_seconds());
  return text;
}

/// Whoever switches machines hears of it before the keeper looks again.
void tell_power(const ApiContext& api) {
  if (api.options.power != nullptr) api.options.power->rest(api.findings->asks()->resting);
}

void carry_out(const ApiContext& api, const Call& call, const CarriedChange& wish, const Engine& engine) {
  const std::string& id = call->names[0];
  const auto all = api.findings->carried();
  const auto found = all.find(id);
  const bool known = found != all.end() && !found->second.undone_at;
  if (known && !asks_the_same(found->second, wish))
    return api.answer(
        call, make_error(ErrorCode::kConflict, "change {} was carried out on {} on {}{}: take it back first", id,
                         format_utc(found->second.at), fmt::join(found->second.machines, ", "), limits_text(found->second)));
  if (const Status there = check_services(api, wish); !known && !there.ok()) return api.answer(call, there.error());
  if (known && wish.off.any()) return api.answer(call, 200, carried_json(id, found->second));  // its hours are kept anyway
  Result<std::vector<std::string>> todo = that_take_work(wish.machines, engine.nodes());
  if (!todo.ok()) return api.answer(call, todo.error());
  CarriedChange change = known ? found->second : wish;
  if (!known) {
    change.by = call->who.user;
    change.at = call->at;
  }
  change.rests = rests_at(change, call->at);
  if (!change.rests) todo->clear();
  std::vector<std::string> drained;
  std::ranges::set_union(change.drained, *todo, std::back_inserter(drained));
  change.drained = std::move(drained);
  change.is_done = todo->empty();
  // A small file, seldom: the engine waits for it as it waits for a step.
  if (const Status written = known && change == found->second ? Status() : api.findings->carry(id, change); !written.ok())
    return api.answer(call, written.error());
  call->detail = fmt::format("change {} {}: {}; drained {}{}", id, known ? "again" : "carried out", change.title,
                             todo->empty() ? "nothing" : fmt::format("{}", fmt::join(*todo, ", ")), limits_text(change));
  run_steps(api, call, false, std::move(*todo), [api, call, id, change](const Status& done) {
    if (!done.ok()) return api.answer(call, done.error());
    CarriedChange ended = change;
    ended.is_done = true;
    if (const auto written = api.findings->carry_over(id, change, ended); !written.ok()) return api.answer(call, written.error());
    tell_power(api);
    api.answer(call, 200, carried_json(id, ended));
  });
}

}  // namespace

void api_changes(const ApiContext& api, const Call& call) {
  Json changes = Json::array();
  for (const auto& [id, change] : api.findings->carried())
    changes.push_back(carried_json(id, change));
  const ClusterRest* cluster = api.options.cluster;
  Json told = nullptr;
  if (cluster != nullptr) told = {{"name", cluster->cluster()}, {"problem", cluster->problem()}};
  api.answer(call, 200, {{"changes", std::move(changes)}, {"cluster", std::move(told)}});
}

void api_carry_out(const ApiContext& api, const Call& call) {
  const Result<CarriedChange> wish = parse_change_wish(call);
  if (!wish.ok()) return api.answer(call, wish.error());
  if (const Status good = check_change_id(call->names[0]); !good.ok()) return api.answer(call, good.error());
  if (const Status approved = check_approved(api, call->names[0]); !approved.ok()) return api.answer(call, approved.error());
  api.service.ask([api, call, wish = *wish](const Engine& engine) { carry_out(api, call, wish, engine); });
}

void api_take_back(const ApiContext& api, const Call& call) {
  const std::string& id = call->names[0];
  const auto all = api.findings->carried();
  const auto found = all.find(id);
  if (found == all.end())
    return api.answer(call, make_error(ErrorCode::kNotFound, "no change {} was carried out here", excerpt(id)));
  if (found->second.undone_at) return api.answer(call, 200, carried_json(id, found->second));
  CarriedChange change = found->second;
  change.undone_by = call->who.user;
  change.undone_at = call->at;
  for (const auto& [other, taken] : taking_over(all, id))
    if (const Status written = api.findings->carry(other, taken); !written.ok()) return api.answer(call, written.error());
  std::vector<std::string> up = to_put_up(all, id);
  call->detail = fmt::format("change {} taken back: {}; up {}", id, change.title,
                             up.empty() ? "nothing" : fmt::format("{}", fmt::join(up, ", ")));
  run_steps(api, call, true, std::move(up), [api, call, id, change](Status done) {
    if (done.ok()) done = api.findings->carry(id, change);
    if (!done.ok()) return api.answer(call, done.error());
    tell_power(api);
    api.answer(call, 200, carried_json(id, change));
  });
}

}  // namespace stint
