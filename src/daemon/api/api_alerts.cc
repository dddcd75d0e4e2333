// Alerts and silences through the API: a user of some clients sees those clients' alerts; operators silence.
#include <simdjson.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/alerts/alert_metrics.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/problem.h"
#include "daemon/json_fields.h"
#include "daemon/json_values.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kLongestSilence = Duration::hours(366 * 24);
constexpr size_t kMostMatchers = 16;
constexpr size_t kLongestComment = 1'000;

bool may_see_alert(const Principal& who, const BookedAlert& alert) {
  return alert.client.empty() ? who.may_everywhere(Permission::kSeeJobs) : who.may(Permission::kSeeJobs, alert.client);
}

/// One that names a client of theirs, and no other: its other matchers may say what is only known to operators.
bool may_see_silence(const Principal& who, const Silence& silence) {
  if (who.may_everywhere(Permission::kSeeJobs)) return true;
  return std::ranges::any_of(silence.matchers, [&](const AlertMatcher& m) {
    return m.label == "client" && !m.negated && !m.pattern.empty() && m.pattern.find('*') == std::string::npos &&
           who.may(Permission::kSeeJobs, m.pattern);
  });
}

/// What a rule looks at: "mean of power".
std::string measured_by(const AlertRule& rule) {
  if (rule.fact) return std::string(name_of(*rule.fact));
  std::string what(rule.metric ? info_of(*rule.metric).name : name_of(*rule.event));
  if (rule.of) what += fmt::format(" of {}", info_of(*rule.of).name);
  return fmt::format("{} of {}", name_of(rule.measure), what);
}

/// Of an alert for all to see: the book's numbers would tell how many others there are.
std::string alert_id(const BookedAlert& a) {
  Fnv1a print;
  for (const std::string& part : {a.rule, a.who.node, a.who.gpu, a.who.name, a.client, format_utc(a.fired)})
    print.update(part + "\n");
  return fmt::format("{:016x}", print.digest());
}

/// @param everything  they see all clients. Numbers of silences tell how many others there are.
Json alert_json(const AlertView& view, bool everything) {
  const BookedAlert& a = view.alert;
  Json json = {{"id", alert_id(a)},
               {"rule", a.rule},
               {"state", !a.firing()                ? "ended"
                         : view.silenced_by.empty() ? "firing"
                                                    : "silenced"},
               {"severity", a.message.labels.at("severity")},
               {"scope", name_of(a.who.scope)},
               {"labels", a.message.labels},
               {"annotations", a.message.annotations},
               {"value", a.value},
               {"since", format_utc(a.message.starts_at)},
               {"fired", format_utc(a.fired)},
               {"ended", time_or_null(a.message.ends_at)},
               {"silenced_by", everything ? Json(view.silenced_by) : Json::array()}};
  if (!everything) return json;
  json["told"] = Json::array();
  for (const auto& [receiver, told] : a.told)
    json["told"].push_back({{"receiver", receiver}, {"firing", told.firing}, {"at", format_utc(told.at)}, {"times", told.times}});
  return json;
}

Json receiver_json(const AlertReceiverState& r) {
  return {{"name", r.name},
          {"kind", name_of(r.kind)},
          {"server", r.server},
          {"waiting", r.waiting},
          {"delivered", r.delivered},
          {"failed", r.failed},
          {"refused", r.refused},
          {"last_error", r.last_error},
          {"last_delivered", time_or_null(r.last_delivered)},
          {"last_failed", time_or_null(r.last_failed)}};
}

Json rule_json(const AlertRule& rule) {
  return {{"name", rule.name},
          {"severity", name_of(rule.severity)},
          {"scope", name_of(rule.scope)},
          {"condition", fmt::format("{} {} {:.10g}{}{}", measured_by(rule), symbol_of(rule.comparison), rule.threshold,
                                    rule.unit.empty() ? "" : " ", rule.unit)},
          {"window_s", rule.window.whole_seconds()},
          {"hold_s", rule.hold.whole_seconds()},
          {"summary", rule.summary},
          {"remedy", rule.remedy}};
}

Json silence_json(const Silence& silence, Instant at, bool everything) {
  Json matchers = Json::array();
  for (const AlertMatcher& matcher : silence.matchers)
    matchers.push_back(to_text(matcher));
  return {{"id", everything ? Json(silence.id) : Json()},
          {"matchers", std::move(matchers)},
          {"from", format_utc(silence.from)},
          {"until", format_utc(silence.until)},
          {"by", silence.by},
          {"comment", silence.comment},
          {"holds", silence.from <= at && at < silence.until}};
}

Result<Silence> read_wish(const Call& call) {
  JsonParser parser;
  TRY_ASSIGN(const simdjson::dom::element json, parser.parse(call->request.body, "silence"));
  JsonFields fields(json, "silence");
  Silence silence;
  const std::vector<std::string> matchers = fields.texts("matchers");
  const Duration length = fields.duration("for", Duration());
  silence.comment = fields.text("comment");
  if (length <= Duration() || length > kLongestSilence) fields.wrong("for", "a time such as \"2h\", at most a year");
  if (silence.comment.size() > kLongestComment) fields.wrong("comment", "at most 1000 bytes long");
  if (matchers.size() > kMostMatchers) fields.wrong("matchers", "at most 16 matchers");
  TRY(fields.finish());
  TRY_ASSIGN(silence.matchers, parse_alert_matchers(matchers));
  silence.by = call->who.user;
  silence.from = call->at;
  silence.until = call->at + length;
  return silence;
}

/// Answers where there are no alerts at all: a daemon without their desk.
bool without_desk(const ApiContext& api, const Call& call) {
  if (api.options.alerts != nullptr) return false;
  api.answer(call, problem(503, "this daemon evaluates no alerts"));
  return true;
}

}  // namespace

void api_alerts(const ApiContext& api, const Call& call) {
  if (without_desk(api, call)) return;
  const auto limit = integer_parameter(call, "limit", 100, 1, 1000);
  if (!limit.ok()) return api.answer(call, limit.error());
  const std::string* state = call->request.parts.parameter("state");
  if (state != nullptr && *state != "firing" && *state != "all")
    return api.answer(call, invalid("parameter 'state': {}: give firing or all", excerpt(*state)));
  const bool all = state != nullptr && *state == "all";
  const bool everything = call->who.may_everywhere(Permission::kSeeJobs);
  Json alerts = Json::array();
  for (const AlertView& view : api.options.alerts->alerts(all ? AlertDesk::Which::kAll : AlertDesk::Which::kFiring))
    if (may_see_alert(call->who, view.alert) && alerts.size() < static_cast<size_t>(*limit))
      alerts.push_back(alert_json(view, everything));
  Json receivers = Json::array();
  if (everything)
    for (const AlertReceiverState& receiver : api.options.alerts->receivers())
      receivers.push_back(receiver_json(receiver));
  Json rules = Json::array();
  for (const AlertRule& rule : api.options.alerts->rules())
    rules.push_back(rule_json(rule));
  api.answer(call, 200, {{"alerts", std::move(alerts)}, {"receivers", std::move(receivers)}, {"rules", std::move(rules)}});
}

void api_list_silences(const ApiContext& api, const Call& call) {
  if (without_desk(api, call)) return;
  Json silences = Json::array();
  for (const Silence& silence : api.options.alerts->silences())
    if (may_see_silence(call->who, silence))
      silences.push_back(silence_json(silence, call->at, call->who.may_everywhere(Permission::kSeeJobs)));
  api.answer(call, 200, {{"silences", std::move(silences)}});
}

void api_make_silence(const ApiContext& api, const Call& call) {
  if (without_desk(api, call)) return;
  if (!call->who.may_everywhere(Permission::kSilenceAlerts))
    return api.answer(call, problem(403, "silences hold for all clients: this takes the role operator in all of them"));
  Result<Silence> wish = read_wish(call);
  if (!wish.ok()) return api.answer(call, wish.error());
  api.options.alerts->silence(std::move(*wish), [api, call](const Result<Silence>& made) {
    if (!made.ok()) return api.answer(call, made.error());
    call->detail = fmt::format("silence {}", made->id);
    api.answer(call, 201, silence_json(*made, made->from, true));
  });
}

void api_expire_silence(const ApiContext& api, const Call& call) {
  if (without_desk(api, call)) return;
  if (!call->who.may_everywhere(Permission::kSilenceAlerts))
    return api.answer(call, problem(403, "silences hold for all clients: this takes the role operator in all of them"));
  const auto id = parse_int(call->names[0]);
  if (!id) return api.answer(call, make_error(ErrorCode::kNotFound, "no silence '{}'", excerpt(call->names[0])));
  api.options.alerts->expire(*id, [api, call](const Result<Silence>& ended) {
    if (!ended.ok()) return api.answer(call, ended.error());
    call->detail = fmt::format("silence {}", ended->id);
    api.answer(call, 200, silence_json(*ended, ended->until, true));
  });
}

}  // namespace stint
