// Findings of the last audit, and what was decided on them.
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/problem.h"
#include "daemon/api/view_json.h"
#include "daemon/audit_runner.h"
#include "daemon/finding_book.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestNote = 1'000;

Json decision_json(const std::string& finding, const FindingDecision& d) {
  return {{"finding", finding}, {"decision", name_of(d.decision)}, {"by", d.by}, {"at", format_utc(d.at)}, {"note", d.note},
          {"title", d.title}};
}

/// An audit names every client's work and bill: it is for those who see all of them.
bool may_read_audit(const ApiContext& api, const Call& call) {
  if (call->who.may_everywhere(Permission::kSeeJobs)) return true;
  api.answer(call, problem(403, "findings are about all clients: a role in all of them shows them"));
  return false;
}

struct Wish {
  Decision decision = Decision::kOpen;
  std::string note;
};

Result<Wish> parse_wish(const Call& call) {
  static constexpr std::array<std::string_view, 2> kFields = {"decision", "note"};
  TRY_ASSIGN(const nlohmann::json body, body_object(call, kFields));
  const auto text = [&body](const char* name) {
    return body.contains(name) && body[name].is_string() ? body[name].get<std::string>() : std::string();
  };
  const auto decision = parse_decision(text("decision"));
  if (!decision) return invalid("field 'decision': give approved, dismissed or open");
  if (body.contains("note") && (!body["note"].is_string() || text("note").size() > kLongestNote))
    return invalid("field 'note': give a text of at most {} bytes", kLongestNote);
  return Wish{*decision, text("note")};
}

}  // namespace

void api_findings(const ApiContext& api, const Call& call) {
  if (!may_read_audit(api, call)) return;
  const auto audit = api.findings->audit();
  if (!audit.ok()) return api.answer(call, audit.error());
  Json decisions = Json::array();
  for (const auto& [finding, decision] : api.findings->decisions())
    decisions.push_back(decision_json(finding, decision));
  Json body = {{"written", nullptr}, {"audit", nullptr}, {"decisions", std::move(decisions)}};
  body["run"] = api.options.audits != nullptr ? to_json(api.options.audits->state()) : Json();
  if (*audit != nullptr) {
    body["written"] = format_utc((*audit)->written);
    body["audit"] = Json::parse((*audit)->json);
  }
  api.answer(call, 200, body);
}

void api_put_findings(const ApiContext& api, const Call& call) {
  const Status put = api.findings->put_audit(call->request.body);
  if (!put.ok()) return api.answer(call, put.error());
  api.answer(call, 200, {{"written", format_utc(call->at)}});
}

void api_begin_audit(const ApiContext& api, const Call& call) {
  AuditRunner* audits = api.options.audits;
  if (audits == nullptr) return api.answer(call, problem(503, "this daemon makes no audits: put one here"));
  const Status begun = audits->begin(call->who.user);
  if (!begun.ok()) return api.answer(call, begun.error());
  api.answer(call, 202, to_json(audits->state()));
}

// The record first, then the decision, then the answer: whoever has heard of a decision finds who took it.
void api_decide_finding(const ApiContext& api, const Call& call) {
  const Result<Wish> wish = parse_wish(call);
  if (!wish.ok()) return api.answer(call, wish.error());
  const auto audit = api.findings->audit();
  if (!audit.ok()) return api.answer(call, audit.error());
  const std::string& finding = call->names[0];
  const auto title = *audit == nullptr ? std::map<std::string, std::string>::const_iterator() : (*audit)->titles.find(finding);
  if (*audit == nullptr || title == (*audit)->titles.end())
    return api.answer(call, make_error(ErrorCode::kNotFound, "the last audit has no finding {}", excerpt(finding)));
  FindingDecision decision{
      .decision = wish->decision, .by = call->who.user, .at = call->at, .note = wish->note, .title = title->second};
  call->detail = fmt::format("finding {} {}: {}{}{}", finding, name_of(decision.decision), decision.title,
                             decision.note.empty() ? "" : "; ", decision.note);
  const Json body = decision_json(finding, decision);
  api.record_then(
      call, [book = api.findings, finding, decision = std::move(decision)] { return book->decide(finding, decision); }, 200,
      body);
}

}  // namespace stint
