// Alerts as other systems are told about them: Alertmanager's API and its webhook's payload, which many receivers know.
// Sources: Alertmanager API v2 (POST /api/v2/alerts); https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
#pragma once

#include <optional>
#include <span>
#include <string>

#include "telemetry/alert_book.h"

namespace stint {

/// The body of POST /api/v2/alerts. @param firing_until  those that fire are believed until then unless a later body repeats them;
///   none = for as long as Alertmanager is configured to. @param link  where a person can look; empty = none.
std::string alertmanager_json(std::span<const AlertMessage> messages, std::optional<Instant> firing_until,
                              const std::string& link);

/// Version 4 of the webhook's payload; status is firing while any of them is.
std::string webhook_json(std::span<const AlertMessage> messages, const std::string& link);

}  // namespace stint
