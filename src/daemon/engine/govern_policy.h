// What the operator allows whom: budgets, prices above which somebody must approve, quotas, regions, machines of one's own.
// Plain values and their JSON (docs/formats.md, "govern"); daemon/engine/admission.h decides by them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "daemon/api/simdjson_fwd.h"

namespace stint {

/// What happens to a job that would overrun a budget.
enum class AtLimit : uint8_t {
  kRefuse,   ///< it is not taken
  kApprove,  ///< it waits until somebody approves
  kWarn,     ///< it is taken: only events tell
};
std::string_view name_of(AtLimit at);  // "refuse", "approve", "warn"

/// Money for a calendar month (UTC), of a client, a team or a project.
struct BudgetRule {
  std::string name;                                     ///< plain, differs
  std::string queue;                                    ///< its jobs and those of the queues below it; "" = all
  std::string project;                                  ///< value of the tag `project`; "" = whatever it is
  Money per_month;                                      ///< > 0
  std::vector<int> thresholds_percent = {50, 80, 100};  ///< ascending, each 1 … 1000; reaching one is an event
  AtLimit at_limit = AtLimit::kRefuse;
  bool operator==(const BudgetRule&) const = default;
};
inline constexpr std::string_view kProjectTag = "project";

/// At most so much, of a client or of each of its users. none = unlimited.
struct Quota {
  std::optional<int64_t> gpus;                 ///< asked for by jobs that wait or run, together
  std::optional<int64_t> gpu_hours_per_month;  ///< used, and what the jobs that wait or run may still use
  std::optional<int64_t> jobs_waiting;         ///< jobs not yet running
  std::optional<int64_t> records_per_day;      ///< that its commands put into the event log
  std::optional<int64_t> mebibytes_per_day;    ///< that those take there
  std::optional<int64_t> log_mebibytes;        ///< of the disk, that logs of its jobs are kept in
  [[nodiscard]] bool any() const { return gpus || gpu_hours_per_month || jobs_waiting; }
  bool operator==(const Quota&) const = default;
};

struct ClientRules {
  std::string client;                   ///< the top of its queues' paths
  std::optional<Money> approval_above;  ///< none = the policy's
  Quota quota, user_quota;
  std::vector<std::string> regions;          ///< globs ("eu-*") of those of machines its jobs may run on; empty = any
  std::vector<std::string> dedicated_nodes;  ///< jobs of others do not run there
  bool only_dedicated = false;               ///< and its own run nowhere else
  bool operator==(const ClientRules&) const = default;
};

struct GovernPolicy {
  Duration assumed_duration = Duration::hours(24);  ///< of a job that states no time limit
  std::optional<Money> approval_above;              ///< a job that may cost more waits for approval; none = none does
  std::vector<BudgetRule> budgets;
  std::vector<ClientRules> clients;
  /// Jobs of several clients may hold parts of one GPU; MIG devices of one GPU they always may.
  bool share_across_clients = false;

  [[nodiscard]] const ClientRules* rules_of(std::string_view client) const;
  /// Whose machine it is; empty = everybody's.
  [[nodiscard]] std::string_view owner_of(std::string_view node) const;
  bool operator==(const GovernPolicy&) const = default;
};

/// Whether one of the globs matches the region.
bool is_in_regions(std::string_view region, const std::vector<std::string>& globs);
/// Of queues, machines, models.
bool is_among(std::string_view name, const std::vector<std::string>& names);

/// The object "govern" of a configuration. What it names must be there: that is check_policy()'s.
Result<GovernPolicy> read_policy(simdjson::dom::element json, const std::string& where, Currency currency);
/// @param queues, nodes  the names that are there. @return error naming the rule and what it names in vain.
Status check_policy(const GovernPolicy& policy, const std::vector<std::string>& queues, const std::vector<std::string>& nodes,
                    std::string_view where);
/// As read_policy() reads it; an empty object for a policy that rules nothing.
nlohmann::ordered_json to_json(const GovernPolicy& policy);

/// {"name", "queue", "project", "per_month", "thresholds", "at_limit"}.
Result<BudgetRule> read_budget_rule(simdjson::dom::element json, const std::string& where, Currency currency);
nlohmann::ordered_json to_json(const BudgetRule& rule);

}  // namespace stint
