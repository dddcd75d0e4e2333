#include "codec/metrics/alert_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

/// Node and job names come from outside and need not be UTF-8.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Alertmanager wants an end; the beginning of time says "not yet".
std::string end_of(const AlertMessage& m) { return m.ends_at ? format_utc(*m.ends_at) : "0001-01-01T00:00:00Z"; }

std::string fingerprint_of(const AlertMessage& m) {
  Fnv1a hash;
  for (const auto& [name, value] : m.labels)
    hash.update(name + '\0' + value + '\0');
  return fmt::format("{:016x}", hash.digest());
}

/// Labels that all of them share with one value.
std::map<std::string, std::string> common(std::span<const AlertMessage> messages,
                                          std::map<std::string, std::string> AlertMessage::* of) {
  if (messages.empty()) return {};
  std::map<std::string, std::string> shared = messages[0].*of;
  for (const AlertMessage& m : messages)
    std::erase_if(shared, [&](const auto& entry) {
      const auto at = (m.*of).find(entry.first);
      return at == (m.*of).end() || at->second != entry.second;
    });
  return shared;
}

}  // namespace

std::string alertmanager_json(std::span<const AlertMessage> messages, std::optional<Instant> firing_until,
                              const std::string& link) {
  Json out = Json::array();
  for (const AlertMessage& m : messages) {
    Json one = {{"labels", m.labels}, {"annotations", m.annotations}, {"startsAt", format_utc(m.starts_at)}};
    if (const auto end = m.ends_at ? m.ends_at : firing_until) one["endsAt"] = format_utc(*end);
    if (!link.empty()) one["generatorURL"] = link;
    out.push_back(std::move(one));
  }
  return dump(out);
}

std::string webhook_json(std::span<const AlertMessage> messages, const std::string& link) {
  Json alerts = Json::array();
  for (const AlertMessage& m : messages)
    alerts.push_back({{"status", m.ends_at ? "resolved" : "firing"},
                      {"labels", m.labels},
                      {"annotations", m.annotations},
                      {"startsAt", format_utc(m.starts_at)},
                      {"endsAt", end_of(m)},
                      {"generatorURL", link},
                      {"fingerprint", fingerprint_of(m)}});
  const bool any_fires = std::ranges::any_of(messages, [](const AlertMessage& m) { return !m.ends_at; });
  return dump({{"version", "4"},
               {"groupKey", "stint"},
               {"truncatedAlerts", 0},
               {"status", any_fires ? "firing" : "resolved"},
               {"receiver", "stint"},
               {"groupLabels", Json::object()},
               {"commonLabels", common(messages, &AlertMessage::labels)},
               {"commonAnnotations", common(messages, &AlertMessage::annotations)},
               {"externalURL", link},
               {"alerts", std::move(alerts)}});
}

}  // namespace stint
