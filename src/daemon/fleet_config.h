// What the daemon manages: machines, queues and the policy, as the operator writes it in a JSON file. docs/formats.md.
//
// The part that decisions rest on is kept in the event log, too, so that the log alone says what was decided and why.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/alerts/alert_config.h"
#include "daemon/engine/govern_policy.h"
#include "daemon/engine_config.h"
#include "daemon/identity/audit_config.h"
#include "daemon/identity/audit_policy.h"
#include "daemon/identity/oidc.h"
#include "daemon/live/live_config.h"
#include "daemon/logs/log_rules.h"
#include "daemon/power/power_config.h"
#include "daemon/replicas/service_config.h"
#include "daemon/statement_config.h"
#include "model/machine.h"
#include "model/price_rule.h"
#include "sched/policy.h"
#include "sched/queues/queue.h"

namespace stint {

/// Tasks of kind `work` take so many percent longer while one of kind `beside` holds a part of their GPU.
struct MeasuredPair {
  std::string work, beside;
  int32_t slowdown_percent = 0;
  bool operator==(const MeasuredPair&) const = default;
};

/// Which attempts of a job its budgets are asked for. The first always; the rest are what logs from before go on with.
enum class AttemptsPaid : uint8_t {
  kFirst,
  kFailed,  ///< and one after a failure: the job fails for good where a budget has no room for it
  kAll,     ///< and one after a preemption or a loss: the job needs approval where a budget has no room for it
};

struct FleetConfig {
  std::string policy = "stint";                  ///< as sched::parse_policy reads it
  Currency currency;                             ///< of all that has a price
  std::vector<Machine> nodes;                    ///< names differ
  std::vector<sched::QueueSpec> queues;          ///< names are paths: "agency", "agency/vision"; parents before children
  GovernPolicy govern;                           ///< what is allowed whom
  std::vector<PriceRule> prices;                 ///< that change with time
  std::vector<std::string> topology;             ///< labels of machines, widest first: a rack of one zone is none of another's
  sched::MigCount mig = sched::MigCount::kPart;  ///< how queues' accounts count MIG instances
  std::vector<MeasuredPair> interference;        ///< who slows whom on a shared GPU
  AttemptsPaid attempts_paid = AttemptsPaid::kAll;
  bool machines_come = false;  ///< there may be machines that are not named here
  bool operator==(const FleetConfig&) const = default;
};

struct DaemonConfig {
  FleetConfig fleet;
  EngineConfig engine;                    ///< read at the start alone
  std::string listen = "127.0.0.1:8470";  ///< address and port of the API
  std::string log;                        ///< URL of the database with the event log; empty = a file in the state folder
  std::optional<OidcConfig> oidc;         ///< whose tokens are believed, too; read at the start alone
  AlertConfig alerts;
  LiveConfig telemetry;
  AuditConfig audit;
  AuditPolicy audit_log;
  LogKeeping job_logs;
  StatementConfig statements;
  PowerConfig power;
  std::vector<ServiceConfig> services;
};

/// The file. @return error naming file and field: unknown, missing, of the wrong type, a name that stands twice, …
Result<DaemonConfig> parse_daemon_config(std::string_view json, std::string_view source);

/// The fleet as one line of JSON that parse_fleet_config() reads back: what records of the log hold, and "parts_apart" where clients
/// share no GPU.
std::string to_json(const FleetConfig& fleet);
Result<FleetConfig> parse_fleet_config(std::string_view json, std::string_view source);

class JsonFields;
/// A machine's fields but for its name. What is wrong is said by fields.finish().
Machine read_machine_fields(JsonFields& fields, Currency currency);

/// One machine, likewise.
std::string to_json(const Machine& machine);
/// @return error, too, where its price is in another currency.
Result<Machine> parse_machine(std::string_view json, std::string_view source, Currency currency);

}  // namespace stint
