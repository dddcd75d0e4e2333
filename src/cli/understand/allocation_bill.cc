#include "cli/understand/allocation_bill.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "codec/bills/opencost_writer.h"
#include "ledger/hold_ledger.h"

namespace stint {
namespace {

Interval known_period(const Records& records) { return records.period.empty() ? records.history.period : records.period; }

/// Who held what: by tenant, which is what a bill says, and by hold.
struct BothAttributions {
  explicit BothAttributions(const Records& records)
      : tenants(attribute(records.history, records.usage)), holds(attribute_holds(records.history, records.usage)) {}
  Attribution tenants;
  HoldAttribution holds;
};

Result<Ledger> ledger_within(const Records& records, const BothAttributions& attributions, CostBasis basis, Interval within) {
  const LedgerOptions options = {.basis = basis, .period = within, .estimate = records.estimate};
  TRY_ASSIGN(const Ledger whole, post(records.history, attributions.tenants.occupancy, records.catalog, options));
  TRY_ASSIGN(Ledger by_hold, post(records.history, attributions.holds.attribution.occupancy, records.catalog, options));
  Ledger ledger = ledger_of_holds(whole, std::move(by_hold), attributions.holds.holds);
  TRY(check_conservation(ledger));
  return ledger;
}

}  // namespace

Result<PodAccounts> keep_accounts_by_pod(const Records& records, CostBasis basis) {
  BothAttributions attributions(records);
  PodAccounts out;
  TRY_ASSIGN(out.ledger, ledger_within(records, attributions, basis, known_period(records)));
  out.holds = std::move(attributions.holds.holds);
  return out;
}

StatementOptions statement_by(const std::vector<AllocationKey>& keys, const History& history, const RunOwners& owners,
                              const PodAccounts& accounts) {
  const TenantTable& tenants = accounts.ledger.tenants;
  const HoldNames names(history, owners, accounts.holds, tenants);
  StatementOptions out;
  out.heading = text_of(keys);
  for (uint32_t id = 0; id < tenants.size(); ++id) {
    std::string name = HoldNames::name(names.properties(TenantId(id)), keys);
    out.row_names.push_back(name == kUnallocated ? "" : std::move(name));
  }
  return out;
}

Result<std::string> opencost_text(const Records& records, const RunOwners& owners, const AllocationAsked& asked) {
  const Interval known = known_period(records);
  TRY_ASSIGN(const std::vector<Interval> steps, allocation_steps(asked.window.empty() ? known : asked.window, asked.step));
  const BothAttributions attributions(records);
  std::vector<Allocation> allocations;
  std::vector<std::string> problems;
  for (const Interval step : steps) {
    allocations.push_back({.window = step, .rows = {}});
    const Interval within = intersect(step, known);
    if (within.empty()) continue;
    TRY_ASSIGN(const Ledger ledger, ledger_within(records, attributions, asked.basis, within));
    allocations.back() = allocate(records.history, owners, attributions.holds.holds, ledger, step, asked.options);
    for (const std::string& problem : ledger.problems)
      if (std::ranges::find(problems, problem) == problems.end()) problems.push_back(problem);
  }
  return opencost_answer(allocations, asked.with_problems ? fmt::format("{}", fmt::join(problems, "; ")) : std::string());
}

Result<std::string> empty_opencost_text(Interval window, std::optional<Duration> step) {
  TRY_ASSIGN(const std::vector<Interval> steps, allocation_steps(window, step));
  std::vector<Allocation> allocations;
  for (const Interval within : steps)
    allocations.push_back({.window = within, .rows = {}});
  return opencost_answer(allocations, "");
}

}  // namespace stint
