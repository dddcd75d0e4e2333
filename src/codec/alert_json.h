// Alerts as other systems are told about them: Alertmanager's API and its webhook's payload, which many receivers know.
// Sources: Alertmanager API v2 (POST /api/v2/alerts); https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "telemetry/alert_evaluator.h"

namespace stint {

/// Equal labels = the same alert: receivers tell alerts apart by them alone.
struct AlertMessage {
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  Instant starts_at;
  std::optional<Instant> ends_at;  ///< none = still firing
};

/// @param change  of one of the evaluator's rules and subjects.
AlertMessage message_of(const AlertEvaluator& evaluator, const AlertChange& change);

/// The body of POST /api/v2/alerts. @param link  where a person can look; empty = none.
std::string alertmanager_json(std::span<const AlertMessage> messages, const std::string& link);

/// Version 4 of the webhook's payload; status is firing while any of them is.
std::string webhook_json(std::span<const AlertMessage> messages, const std::string& link);

}  // namespace stint
