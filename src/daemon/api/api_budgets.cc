// Budgets: how they stand, and those that operators set by command. A client's users see the budgets of its queues, and those
// of all clients together only who may see all.
#include <simdjson.h>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/view_json.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

bool may_see(const Principal& who, const BudgetView& budget) {
  return budget.queue.empty() ? who.may_everywhere(Permission::kSeeJobs)
                              : who.may(Permission::kSeeJobs, client_of_queue(budget.queue));
}

Error no_such_budget(std::string_view name) {
  return make_error(ErrorCode::kNotFound, "there is no budget {}: `stint budget list` shows those there are", excerpt(name));
}

/// @return the rule, its amount without a currency: that is the machines'.
Result<BudgetRule> wished_rule(const Call& call) {
  constexpr std::array<std::string_view, 5> kFields = {"queue", "project", "per_month", "thresholds", "at_limit"};
  TRY_ASSIGN(nlohmann::json body, body_object(call, kFields));
  body["name"] = call->names[0];
  JsonParser parser;
  const std::string text = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  TRY_ASSIGN(const simdjson::dom::element element, parser.parse(text, "budget"));
  return read_budget_rule(element, "budget", Currency());
}

}  // namespace

void api_list_budgets(const ApiContext& api, const Call& call) {
  api.service.ask([api, call](const Engine& engine) {
    Json budgets = Json::array();
    for (const BudgetView& budget : engine.budgets())
      if (may_see(call->who, budget)) budgets.push_back(to_json(budget));
    api.answer(call, 200, {{"budgets", std::move(budgets)}});
  });
}

void api_show_budget(const ApiContext& api, const Call& call) {
  api.service.ask([api, call](const Engine& engine) {
    for (const BudgetView& budget : engine.budgets())
      if (budget.name == call->names[0] && may_see(call->who, budget)) return api.answer(call, 200, to_json(budget));
    api.answer(call, no_such_budget(call->names[0]));
  });
}

void api_put_budget(const ApiContext& api, const Call& call) {
  Result<BudgetRule> rule = wished_rule(call);
  if (!rule.ok()) return api.answer(call, rule.error());
  call->client = client_of_queue(rule->queue);
  call->detail = to_json(*rule).dump();
  api.service.set_budget(std::move(*rule), by_caller(call), [api, call](Result<BudgetView> budget) {
    if (!budget.ok()) return api.answer(call, budget.error());
    api.answer(call, 200, to_json(*budget));
  });
}

void api_remove_budget(const ApiContext& api, const Call& call) {
  api.service.remove_budget(call->names[0], by_caller(call), [api, call](Result<bool> removed) {
    if (!removed.ok()) return api.answer(call, removed.error());
    api.answer(call, 200, {{"name", call->names[0]}, {"removed", true}});
  });
}

}  // namespace stint
