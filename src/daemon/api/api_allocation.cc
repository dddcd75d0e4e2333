// Costs as OpenCost's allocation API tells them, so that what reads OpenCost reads this. Source: OpenCost documentation, "API", /allocation.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/bills/opencost_window.h"
#include "daemon/allocation_desk.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/problem.h"
#include "ledger/allocation.h"

namespace stint {
namespace {

/// Of OpenCost's parameters what changes the answer in a way that there is none of here. Switched off they say what is so.
constexpr std::array<std::string_view, 5> kOnlyWhenOff = {"idleByNode", "sharelb", "includeProportionalAssetResourceCosts",
                                                          "includeAggregatedMetadata", "reconcile"};
constexpr std::array<std::string_view, 6> kAllocationParameters = {"window",     "aggregate",   "step",
                                                                   "accumulate", "includeIdle", "shareIdle"};

Result<bool> allocation_switch(const Call& call, std::string_view name) {
  const std::string* text = call->request.parts.parameter(name);
  if (text == nullptr || *text == "false") return false;
  if (*text == "true") return true;
  return invalid("parameter '{}': {}: give true or false", name, excerpt(*text));
}

Status refuse_unknown(const Call& call) {
  for (const auto& [name, value] : call->request.parts.parameters) {
    const auto times = std::ranges::count(call->request.parts.parameters, name, &std::pair<std::string, std::string>::first);
    if (times > 1) return invalid("parameter '{}': given more than once", excerpt(name));
    if (std::ranges::find(kAllocationParameters, name) != kAllocationParameters.end()) continue;
    if (std::ranges::find(kOnlyWhenOff, name) != kOnlyWhenOff.end() && value == "false") continue;
    return invalid("parameter '{}': not supported here: leave it out; there are {}", excerpt(name),
                   fmt::join(kAllocationParameters, ", "));
  }
  return {};
}

Result<AllocationQuestion> allocation_question(const Call& call) {
  TRY(refuse_unknown(call));
  AllocationQuestion out;
  const HttpTarget& asked = call->request.parts;
  const std::string* window = asked.parameter("window");
  if (window == nullptr)
    return invalid("parameter 'window': give one, such as today, 7d or 2026-10-01T00:00:00Z,2026-10-08T00:00:00Z");
  TRY_ASSIGN(out.window, parse_opencost_window(*window, call->at));
  if (const std::string* by = asked.parameter("aggregate"); by != nullptr && !by->empty()) {
    TRY_ASSIGN(const std::vector<AllocationKey> keys, parse_allocation_keys(*by));
    out.aggregate = text_of(keys);
  } else {
    out.aggregate = text_of(keys_of_containers());
  }
  if (const std::string* step = asked.parameter("step"); step != nullptr) {
    const auto length = parse_duration(*step);
    if (!length.ok()) return invalid("parameter 'step': {}", length.error().message);
    out.step = *length;
  }
  TRY(allocation_steps(out.window, out.step));
  TRY_ASSIGN(const bool accumulate, allocation_switch(call, "accumulate"));
  if (accumulate) out.step.reset();  // the steps sum to the window, to the nano-unit
  TRY_ASSIGN(const bool include, allocation_switch(call, "includeIdle"));
  TRY_ASSIGN(const bool share, allocation_switch(call, "shareIdle"));
  out.idle = share ? "spread" : include ? "separate" : "left-out";
  return out;
}

}  // namespace

void api_allocation(const ApiContext& api, const Call& call) {
  Result<AllocationQuestion> question = allocation_question(call);
  if (!question.ok()) return api.answer(call, question.error());
  const bool all = call->who.may_everywhere(Permission::kSeeJobs);
  if (!all) {
    if (question->idle != "left-out")
      return api.answer(call,
                        problem(403, "parameters 'includeIdle' and 'shareIdle': idle money is shown to roles in all clients"));
    question->clients = call->who.clients_for(Permission::kSeeJobs);
  }
  if (api.options.allocations == nullptr) return api.answer(call, problem(503, "this daemon tells no allocations"));
  api.options.allocations->ask(std::move(*question), [api, call, all](Result<std::string> answer) {
    // Why it failed may speak of machines and bills of others.
    if (!answer.ok() && !all)
      return api.answer(call, problem(503, "the allocation cannot be told just now: try again, else tell an operator"));
    if (!answer.ok()) return api.answer(call, answer.error());
    api.answer(call, HttpReply{.status = 200, .content_type = "application/json", .headers = {}, .body = std::move(*answer)});
  });
}

}  // namespace stint
