#include "daemon/finding_json.h"

#include <simdjson.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kAuditSchema = "stint-audit/1";

}  // namespace

Result<std::map<std::string, std::string>> audit_titles(std::string_view json, const std::string& source) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::string_view schema;
  simdjson::dom::array findings;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS || root["schema"].get(schema) != simdjson::SUCCESS ||
      schema != kAuditSchema || root["findings"].get(findings) != simdjson::SUCCESS)
    return invalid("{}: not what `stint audit --json` writes ({})", source, kAuditSchema);
  std::map<std::string, std::string> titles;
  for (const simdjson::dom::element finding : findings) {
    std::string_view id;
    std::string_view title;
    if (finding["id"].get(id) != simdjson::SUCCESS || finding["title"].get(title) != simdjson::SUCCESS)
      return invalid("{}: a finding without id or title", source);
    titles.emplace(id, title);
  }
  return titles;
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

}  // namespace stint
