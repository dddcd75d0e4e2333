#include "daemon/alerts/alert_journal.h"

#include <simdjson.h>
#include <nlohmann/json.hpp>

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const BookedAlert& a, std::string_view entry) {
  return {{"entry", entry},
          {"id", a.id},
          {"rule", a.rule},
          {"scope", name_of(a.who.scope)},
          {"node", a.who.node},
          {"gpu", a.who.gpu},
          {"name", a.who.name},
          {"client", a.client},
          {"value", a.value},
          {"since_ns", a.message.starts_at.ns()},
          {"fired_ns", a.fired.ns()},
          {"labels", a.message.labels},
          {"annotations", a.message.annotations}};
}

Json json_of(const AlertFired& e) { return json_of(e.alert, "fired"); }

/// The same and what has become of it.
Json json_of(const AlertKept& e) {
  const BookedAlert& a = e.alert;
  Json json = json_of(a, "kept");
  if (a.message.ends_at) json["ended_ns"] = a.message.ends_at->ns();
  json["silenced"] = a.ended_silenced;
  json["told"] = Json::array();
  for (const auto& [receiver, told] : a.told)
    json["told"].push_back({{"receiver", receiver}, {"firing", told.firing}, {"at_ns", told.at.ns()}, {"times", told.times}});
  return json;
}

Json json_of(const AlertEnded& e) {
  return {{"entry", "ended"}, {"id", e.id}, {"at_ns", e.at.ns()}, {"value", e.value}, {"silenced", e.silenced}};
}

Json json_of(const AlertWasTold& e) {
  return {{"entry", "told"}, {"id", e.id}, {"receiver", e.receiver}, {"firing", e.firing}, {"at_ns", e.at.ns()}};
}

Json json_of(const Silence& s, std::string_view entry) {
  Json matchers = Json::array();
  for (const AlertMatcher& matcher : s.matchers)
    matchers.push_back(to_text(matcher));
  return {{"entry", entry},
          {"id", s.id},
          {"matchers", std::move(matchers)},
          {"from_ns", s.from.ns()},
          {"until_ns", s.until.ns()},
          {"by", s.by},
          {"comment", s.comment}};
}

Json json_of(const AlertSilenced& e) { return json_of(e.silence, "silenced"); }
Json json_of(const SilenceKept& e) { return json_of(e.silence, "kept-silence"); }
Json json_of(const AlertBookAnew& e) {
  return {{"entry", "anew"}, {"next_alert", e.next_alert}, {"next_silence", e.next_silence}};
}

Json json_of(const SilenceExpired& e) { return {{"entry", "expired"}, {"id", e.id}, {"at_ns", e.at.ns()}}; }

Instant instant_of(JsonFields& fields, std::string_view name) {
  return Instant::from_ns(fields.integer(name, INT64_MIN, INT64_MAX, 0));
}

BookedAlert read_alert(JsonFields& fields) {
  BookedAlert alert;
  alert.rule = fields.text("rule");
  if (const auto scope = parse_alert_scope(fields.text("scope")))
    alert.who.scope = *scope;
  else
    fields.wrong("scope", "a scope");
  alert.who.node = fields.text("node");
  alert.who.gpu = fields.text("gpu");
  alert.who.name = fields.text("name");
  alert.client = fields.text("client");
  alert.value = fields.number("value", -1e308, 1e308, 0);
  alert.message.starts_at = instant_of(fields, "since_ns");
  alert.fired = instant_of(fields, "fired_ns");
  for (auto& [name, value] : fields.pairs("labels"))
    alert.message.labels.emplace(name, value);
  for (auto& [name, value] : fields.pairs("annotations"))
    alert.message.annotations.emplace(name, value);
  return alert;
}

Status read_fate(JsonFields& fields, BookedAlert& alert) {
  if (fields.has("ended_ns")) alert.message.ends_at = instant_of(fields, "ended_ns");
  alert.ended_silenced = fields.flag("silenced", false);
  simdjson::dom::array all;
  if (!fields.has("told") || fields.raw("told").get(all) != simdjson::SUCCESS) {
    fields.wrong("told", "a list");
    return {};
  }
  for (const simdjson::dom::element element : all) {
    JsonFields one(element, "alert entry: told");
    AlertTold told{
        .firing = one.flag("firing", false), .at = instant_of(one, "at_ns"), .times = one.integer("times", 0, INT64_MAX, 0)};
    alert.told.emplace(one.text("receiver"), told);
    TRY(one.finish());
  }
  return {};
}

Result<Silence> read_silence(JsonFields& fields) {
  Silence silence;
  TRY_ASSIGN(silence.matchers, parse_alert_matchers(fields.texts("matchers")));
  silence.from = instant_of(fields, "from_ns");
  silence.until = instant_of(fields, "until_ns");
  silence.by = fields.text("by");
  silence.comment = fields.text("comment");
  return silence;
}

}  // namespace

std::string encode(const AlertEntry& entry) {
  return std::visit([](const auto& e) { return json_of(e).dump(-1, ' ', false, Json::error_handler_t::replace); }, entry);
}

Result<AlertEntry> decode_alert_entry(JsonParser& parser, std::string_view row) {
  TRY_ASSIGN(const simdjson::dom::element json, parser.parse(row, "alert entry"));
  JsonFields fields(json, "alert entry");
  const std::string kind = fields.text("entry");
  AlertEntry entry;
  if (kind == "anew") {
    const int64_t next_alert = fields.integer("next_alert", 1, INT64_MAX, 1);
    entry = AlertBookAnew{.next_alert = next_alert, .next_silence = fields.integer("next_silence", 1, INT64_MAX, 1)};
    TRY(fields.finish());
    return entry;
  }
  const int64_t id = fields.integer("id", 1, INT64_MAX, 0);
  if (kind == "fired") {
    AlertFired fired{read_alert(fields)};
    fired.alert.id = id;
    entry = std::move(fired);
  } else if (kind == "ended") {
    const Instant at = instant_of(fields, "at_ns");
    entry = AlertEnded{id, at, fields.number("value", -1e308, 1e308, 0), fields.flag("silenced", false)};
  } else if (kind == "told") {
    AlertWasTold told{.id = id, .receiver = fields.text("receiver"), .firing = fields.flag("firing", false), .at = {}};
    told.at = instant_of(fields, "at_ns");
    entry = std::move(told);
  } else if (kind == "silenced") {
    TRY_ASSIGN(Silence silence, read_silence(fields));
    silence.id = id;
    entry = AlertSilenced{std::move(silence)};
  } else if (kind == "kept") {
    AlertKept kept{read_alert(fields)};
    kept.alert.id = id;
    TRY(read_fate(fields, kept.alert));
    entry = std::move(kept);
  } else if (kind == "kept-silence") {
    TRY_ASSIGN(Silence silence, read_silence(fields));
    silence.id = id;
    entry = SilenceKept{std::move(silence)};
  } else if (kind == "expired") {
    entry = SilenceExpired{id, instant_of(fields, "at_ns")};
  } else {
    fields.wrong("entry", "fired, ended, told, silenced, expired, anew, kept or kept-silence");
  }
  TRY(fields.finish());
  return entry;
}

}  // namespace stint
