// A finder looks at the facts and at the books as earlier findings left them, and proposes Changes. It is a pure
// function and decides nothing: the audit prices every proposal on the books and keeps those that save.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "advise/audit_input.h"
#include "advise/books.h"
#include "advise/thresholds.h"

namespace stint {

struct RightsizeMemo;

/// What a finder may read. Everything must outlive the call.
struct FleetView {
  const FleetFacts& facts;
  const Books& books;
  const PriceLookup& prices;
  const History& history;
  const std::vector<std::string>& allowed_regions;
  CommitmentTerm longest_term = CommitmentTerm::kOneYear;  ///< of commitments
  std::span<const SavingsPlanOffer> savings_plans = {};
  RightsizeMemo* memo = nullptr;          ///< of these facts and prices; null = nothing is remembered
  double commit_on_days = kDaysToCommit;  ///< of use, from which on commitments are advised
};

struct Proposals {
  std::vector<Finding> advised;
  std::vector<Finding> rejected;     ///< the first caveat says why; alone_per_month is what it would be worth, if known
  std::vector<Finding> on_few_days;  ///< commitments that rest on less use than FleetView::commit_on_days
};

Proposals find_stop(const FleetView& fleet);
Proposals find_schedule(const FleetView& fleet);
Proposals find_limit(const FleetView& fleet);
Proposals find_offgpu(const FleetView& fleet);
Proposals find_resize(const FleetView& fleet);
Proposals find_share(const FleetView& fleet);
Proposals find_region(const FleetView& fleet);
Proposals find_spot(const FleetView& fleet);
Proposals find_commit(const FleetView& fleet);
Proposals find_savings_plan(const FleetView& fleet);

}  // namespace stint
