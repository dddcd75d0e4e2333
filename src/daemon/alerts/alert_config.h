// What the daemon's configuration says of alerts: rules changed, switched off or added, and who is told. docs/formats.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "telemetry/alert_book.h"

namespace stint {

/// Somebody who is told: any server that takes a POST, or an Alertmanager.
struct AlertReceiver {
  enum class Kind : uint8_t { kWebhook, kAlertmanager } kind = Kind::kWebhook;
  std::string name;
  std::string url;                  ///< of an Alertmanager without /api/v2/alerts
  std::string secret_file;          ///< of a webhook: what its requests are signed with; empty = not signed
  std::string token_file;           ///< what is shown as Authorization: Bearer; empty = nothing
  std::vector<AlertMatcher> wants;  ///< all must match; empty = every alert
  Duration again;                   ///< told again while it fires
  bool operator==(const AlertReceiver&) const = default;

  [[nodiscard]] AlertAudience audience() const { return {.receiver = name, .wants = wants, .again = again}; }
};
std::string_view name_of(AlertReceiver::Kind kind);

struct AlertConfig {
  std::vector<AlertRule> rules = default_alert_rules();  ///< each passed check_alert_rule(); names differ
  std::vector<AlertReceiver> receivers;                  ///< names differ
  Duration every = Duration::minutes(1);                 ///< how often rules are looked at, beside at what happens
  AlertRetention keep;                                   ///< of what has ended
  std::string link;                                      ///< where a person can look; empty = nowhere
};

/// The field `alerts` of the daemon's configuration; what holds without it when it is not there.
/// @return error naming file, line and field.
Result<AlertConfig> parse_alert_config(std::string_view json, const std::string& source);

}  // namespace stint
