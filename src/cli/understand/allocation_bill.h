// `stint bill` by what Kubernetes calls things: namespaces, controllers, pods, labels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/govern/accounts.h"
#include "ledger/allocation.h"
#include "ledger/cost_statement.h"
#include "telemetry/hold_attribution.h"

namespace stint {

/// Accounts told by pod. What a tenant has in them is to the nano-unit what keep_accounts() gives it.
struct PodAccounts {
  HoldTable holds;
  Ledger ledger;  ///< of holds; borrows from the Records
};
Result<PodAccounts> keep_accounts_by_pod(const Records& records, CostBasis basis);

/// How a statement names its rows by `keys`.
StatementOptions statement_by(const std::vector<AllocationKey>& keys, const History& history, const RunOwners& owners,
                              const PodAccounts& accounts);

struct AllocationAsked {
  AllocationOptions options;
  CostBasis basis = CostBasis::kEffective;
  Interval window;               ///< empty = the records'
  std::optional<Duration> step;  ///< none = the window as one
  bool with_problems = true;     ///< names of machines that are others' too
};

/// As OpenCost's allocation API answers. @return error of allocation_steps().
Result<std::string> opencost_text(const Records& records, const RunOwners& owners, const AllocationAsked& asked);
/// The same of a window of which nothing is known: one empty map a step.
Result<std::string> empty_opencost_text(Interval window, std::optional<Duration> step);

}  // namespace stint
