#include "daemon/finding_json.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kAuditSchema = "stint-audit/1";

std::string audit_text_of(const simdjson::dom::element& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

std::vector<UnusualSpend> unusual_spend(const simdjson::dom::element& root) {
  std::map<std::string, UnusualSpend> by_name;
  simdjson::dom::array found;
  if (root["anomalies"]["found"].get(found) != simdjson::SUCCESS) return {};
  for (const simdjson::dom::element one : found) {
    bool recent = false, idle = false;
    double deviations = 0;
    if (one["recent"].get(recent) != simdjson::SUCCESS || !recent || one["idle"].get(idle) != simdjson::SUCCESS ||
        one["deviations"].get(deviations) != simdjson::SUCCESS)
      continue;
    const std::string client = audit_text_of(one, "client");
    const std::string shown = idle ? "idle, of no client" : client.empty() ? "not attributed" : client;
    std::string name = fmt::format("{}: {} {}", shown, audit_text_of(one, "provider"), audit_text_of(one, "service"));
    UnusualSpend& spend = by_name[name];
    if (spend.name.empty() || std::abs(deviations) > std::abs(spend.deviations))
      spend = {.client = client, .name = std::move(name), .deviations = deviations};
  }
  std::vector<UnusualSpend> out;
  for (auto& [name, spend] : by_name)
    out.push_back(std::move(spend));
  return out;
}

std::optional<Instant> oldest_price(const simdjson::dom::element& root) {
  std::optional<Instant> oldest;
  simdjson::dom::array prices;
  if (root["prices"].get(prices) != simdjson::SUCCESS) return oldest;
  for (const simdjson::dom::element price : prices)
    if (const auto day = parse_instant(audit_text_of(price, "as_of")); day.ok()) oldest = std::min(oldest.value_or(*day), *day);
  return oldest;
}

}  // namespace

Result<AuditContents> read_audit(std::string_view json, const std::string& source) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::string_view schema;
  simdjson::dom::array findings;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS || root["schema"].get(schema) != simdjson::SUCCESS ||
      schema != kAuditSchema || root["findings"].get(findings) != simdjson::SUCCESS)
    return invalid("{}: not what `stint audit --json` writes ({})", source, kAuditSchema);
  AuditContents out;
  for (const simdjson::dom::element finding : findings) {
    std::string_view id;
    std::string_view title;
    if (finding["id"].get(id) != simdjson::SUCCESS || finding["title"].get(title) != simdjson::SUCCESS)
      return invalid("{}: a finding without id or title", source);
    out.titles.emplace(id, title);
  }
  out.unusual = unusual_spend(root);
  out.oldest_price = oldest_price(root);
  return out;
}

Result<std::map<std::string, FindingDecision>> parse_decisions(const std::string& json, const std::string& source) {
  const Json root = Json::parse(json, nullptr, false);
  if (!root.is_object()) return invalid("{}: no JSON object: move it away to begin anew", source);
  std::map<std::string, FindingDecision> decisions;
  for (const auto& [id, entry] : root.items()) {
    const auto text = [&entry = entry](const char* name) {
      return entry.is_object() && entry.contains(name) && entry[name].is_string() ? entry[name].get<std::string>() : "";
    };
    const auto decision = parse_decision(text("decision"));
    const auto at = parse_instant(text("at"));
    if (!decision || !at.ok()) return invalid("{}: finding {}: no decision or no time", source, excerpt(id));
    decisions[id] = {.decision = *decision, .by = text("by"), .at = *at, .note = text("note"), .title = text("title")};
  }
  return decisions;
}

std::string format_decisions(const std::map<std::string, FindingDecision>& decisions) {
  Json root = Json::object();
  for (const auto& [id, d] : decisions)
    root[id] = {{"decision", name_of(d.decision)}, {"by", d.by}, {"at", format_utc(d.at)}, {"note", d.note}, {"title", d.title}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<WeekHours> read_week_hours(const nlohmann::json& object, const std::string& source) {
  WeekHours off;
  if (!object.is_object() || !object.contains("off_hours_of_week")) return off;
  const nlohmann::json& hours = object["off_hours_of_week"];
  const auto is_hour = [&](const nlohmann::json& hour) { return hour.is_number_unsigned() && hour.get<uint64_t>() < off.size(); };
  if (!hours.is_array() || !std::ranges::all_of(hours, is_hour))
    return invalid("{}: 'off_hours_of_week': give hours from 0 (Monday 00:00 UTC) to 167", source);
  for (const nlohmann::json& hour : hours)
    off.set(hour.get<size_t>());
  return off;
}

Status read_change_limits(const nlohmann::json& object, const std::string& source, CarriedChange& change) {
  constexpr int64_t kMostReplicas = 1'000'000;
  constexpr int64_t kLongestLimit = int64_t{10} * 366 * 24 * 3600;  // seconds
  using Take = std::function<void(const std::string& name, int64_t value)>;
  const auto read = [&](const char* field, int64_t most, const Take& take) -> Status {
    if (!object.is_object() || !object.contains(field)) return {};
    const nlohmann::json& values = object[field];
    if (!values.is_object() || values.empty())
      return invalid("{}: '{}': give an object of names and whole numbers, or leave it out", source, field);
    for (const auto& [name, value] : values.items()) {
      if (name.empty() || !value.is_number_unsigned() || value.get<uint64_t>() < 1 ||
          value.get<uint64_t>() > static_cast<uint64_t>(most))
        return invalid("{}: '{}': {}: give a whole number from 1 to {}", source, field, excerpt(name), most);
      take(name, value.get<int64_t>());
    }
    return {};
  };
  TRY(read("replicas", kMostReplicas,
           [&](const std::string& name, int64_t count) { change.replicas[name] = static_cast<int32_t>(count); }));
  return read("time_limits_s", kLongestLimit,
              [&](const std::string& name, int64_t seconds) { change.time_limits[name] = Duration::seconds(seconds); });
}

namespace {

bool flag_or(const nlohmann::json& object, const char* name, bool otherwise) {
  return object.is_object() && object.contains(name) && object[name].is_boolean() ? object[name].get<bool>() : otherwise;
}

Json week_hours_json(const WeekHours& off) {
  Json hours = Json::array();
  for (size_t hour = 0; hour < off.size(); ++hour)
    if (off.test(hour)) hours.push_back(hour);
  return hours;
}

}  // namespace

Result<std::map<std::string, CarriedChange>> parse_carried(const std::string& json, const std::string& source) {
  const nlohmann::json root = nlohmann::json::parse(json, nullptr, false);
  if (!root.is_array()) return invalid("{}: no JSON array: move it away to begin anew", source);
  std::map<std::string, CarriedChange> changes;
  for (const nlohmann::json& entry : root) {
    const auto text = [&entry](const char* name) {
      return entry.is_object() && entry.contains(name) && entry[name].is_string() ? entry[name].get<std::string>() : "";
    };
    const auto names = [&entry](const char* name) {
      std::vector<std::string> out;
      if (entry.is_object() && entry.contains(name) && entry[name].is_array())
        for (const nlohmann::json& one : entry[name])
          if (one.is_string()) out.push_back(one.get<std::string>());
      return out;
    };
    const std::string id = text("id");
    const auto at = parse_instant(text("at"));
    CarriedChange change{.title = text("title"),
                         .by = text("by"),
                         .at = at.ok() ? *at : Instant(),
                         .machines = names("machines"),
                         .drained = names("drained"),
                         .undone_by = text("undone_by"),
                         .undone_at = std::nullopt};
    TRY_ASSIGN(change.off, read_week_hours(entry, source));
    // Older files say neither: what they hold was done, or is asked for again.
    change.rests = flag_or(entry, "rests", true);
    change.is_done = flag_or(entry, "done", true);
    TRY(read_change_limits(entry, source, change));
    const bool asks = !change.machines.empty() || !change.replicas.empty() || !change.time_limits.empty();
    if (id.empty() || !at.ok() || !asks)
      return invalid("{}: change '{}': no id, time or machines: move the file away to begin anew", source, excerpt(id));
    if (const std::string undone = text("undone_at"); !undone.empty()) {
      TRY_ASSIGN(change.undone_at, parse_instant(undone));
    }
    changes[id] = std::move(change);
  }
  return changes;
}

Json carried_json(const std::string& id, const CarriedChange& change) {
  Json json = {{"id", id},
               {"title", change.title},
               {"by", change.by},
               {"at", format_utc(change.at)},
               {"machines", change.machines},
               {"drained", change.drained},
               {"off_hours_of_week", week_hours_json(change.off)},
               {"rests", change.rests},
               {"done", change.is_done},
               {"undone_by", change.undone_by},
               {"undone_at", change.undone_at ? Json(format_utc(*change.undone_at)) : Json()}};
  for (const auto& [service, most] : change.replicas)
    json["replicas"][service] = most;
  for (const auto& [job, limit] : change.time_limits)
    json["time_limits_s"][job] = limit.whole_seconds();
  return json;
}

std::string format_carried(const std::map<std::string, CarriedChange>& changes) {
  Json root = Json::array();
  for (const auto& [id, change] : changes)
    root.push_back(carried_json(id, change));
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stint
