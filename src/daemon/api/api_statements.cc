// Clients' statements of past months: each client's page to who may see that client.
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/problem.h"
#include "daemon/api/view_json.h"
#include "daemon/statement_runner.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

/// A page without scripts that brings its style along. What it names from elsewhere stays unloaded.
std::vector<std::pair<std::string, std::string>> headers_of_statement() {
  return {{"Content-Security-Policy",
           "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"},
          {"Referrer-Policy", "no-referrer"}};
}

bool has_statements(const ApiContext& api, const Call& call) {
  if (api.options.statements != nullptr) return true;
  api.answer(call, problem(503, "this daemon writes no statements"));
  return false;
}

}  // namespace

void api_statements(const ApiContext& api, const Call& call) {
  if (!has_statements(api, call)) return;
  Json months = Json::array();
  for (const MonthStatements& m : api.options.statements->book().months()) {
    Json list = Json::array();
    for (const KeptStatement& s : m.statements)
      if (call->who.may(Permission::kSeeJobs, s.client))
        list.push_back({{"client", s.client}, {"total", {{"amount", s.amount}, {"currency", m.currency}}}});
    if (!list.empty())
      months.push_back({{"month", m.month}, {"written", format_utc(m.written)}, {"statements", std::move(list)}});
  }
  const bool all = call->who.may_everywhere(Permission::kSeeJobs);
  api.answer(call, 200, {{"months", std::move(months)}, {"run", all ? to_json(api.options.statements->state()) : Json()}});
}

void api_statement_page(const ApiContext& api, const Call& call) {
  const std::string &month = call->names[0], &client = call->names[1];
  if (!call->who.may(Permission::kSeeJobs, client))
    return api.answer(call, make_error(ErrorCode::kNotFound, "no client {}", excerpt(client)));
  if (!has_statements(api, call)) return;
  call->client = client;
  Result<std::string> page = api.options.statements->book().page(month, client);
  if (!page.ok()) return api.answer(call, page.error());
  api.answer(call, HttpReply{200, "text/html; charset=utf-8", headers_of_statement(), std::move(*page)});
}

void api_write_statements(const ApiContext& api, const Call& call) {
  if (!has_statements(api, call)) return;
  static constexpr std::array<std::string_view, 1> kFields = {"month"};
  const auto body = body_object(call, kFields);
  if (!body.ok()) return api.answer(call, body.error());
  if (!body->contains("month") || !(*body)["month"].is_string())
    return api.answer(call, invalid("field 'month': give a UTC month such as \"2026-10\""));
  const Status begun = api.options.statements->begin((*body)["month"].get<std::string>(), call->who.user);
  if (!begun.ok()) return api.answer(call, begun.error());
  api.answer(call, 202, to_json(api.options.statements->state()));
}

}  // namespace stint
