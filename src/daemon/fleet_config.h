// What the daemon manages: machines, queues and the policy, as the operator writes it in a JSON file. docs/formats.md.
//
// The part that decisions rest on is kept in the event log, too, so that the log alone says what was decided and why.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/alert_config.h"
#include "daemon/audit_config.h"
#include "daemon/govern_policy.h"
#include "daemon/live_config.h"
#include "daemon/oidc.h"
#include "daemon/power_config.h"
#include "daemon/service_config.h"
#include "daemon/statement_config.h"
#include "model/machine.h"
#include "sched/queue.h"

namespace stint {

struct FleetConfig {
  std::string policy = "stint";          ///< as sched::parse_policy reads it
  Currency currency;                     ///< of all that has a price
  std::vector<Machine> nodes;            ///< names differ
  std::vector<sched::QueueSpec> queues;  ///< names are paths: "agency", "agency/vision"; parents before children
  GovernPolicy govern;                   ///< what is allowed whom
};

struct DaemonConfig {
  FleetConfig fleet;
  std::string listen = "127.0.0.1:8470";  ///< address and port of the API
  std::string log;                        ///< URL of the database with the event log; empty = a file in the state folder
  std::optional<OidcConfig> oidc;         ///< whose tokens are believed, too; read at the start alone
  AlertConfig alerts;
  LiveConfig telemetry;
  AuditConfig audit;
  StatementConfig statements;
  PowerConfig power;
  std::vector<ServiceConfig> services;
};

/// The file. @return error naming file and field: unknown, missing, of the wrong type, a name that stands twice, …
Result<DaemonConfig> parse_daemon_config(std::string_view json, std::string_view source);

/// The fleet as one line of JSON that parse_fleet_config() reads back.
std::string to_json(const FleetConfig& fleet);
Result<FleetConfig> parse_fleet_config(std::string_view json, std::string_view source);

/// One machine, likewise.
std::string to_json(const Machine& machine);
/// @return error, too, where its price is in another currency.
Result<Machine> parse_machine(std::string_view json, std::string_view source, Currency currency);

}  // namespace stint
