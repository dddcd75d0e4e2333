// Which nodes, which weeks and which work to hold an applied change against, out of a History; the arithmetic is in
// advise/track/realised_saving.h.
//
// - Where. The nodes the change names, those it brought, and those that came after it and were used by the tenants that used its
//   nodes before (a spot machine has another name). If less than half of the work is left there, it may have gone elsewhere: then
//   all nodes of those tenants are looked at, before and after.
// - When. Whole weeks, so that weekdays are alike: up to four before, all that bills cover after, until the change was undone or
//   another one to the same nodes began. Changes to the same nodes within a week of each other are measured together.
// - What. A change of price alone (market, commitment, region) is held against the price of a GPU-hour bought, whatever was done with it:
//   machines that were there anyway and had more to do are no saving of it. Any other: active GPU-hours where telemetry knows of nearly all that was held, before and after; else the GPU-hours that jobs held.
//   Nothing was held in an hour that the bill does not charge and telemetry did not see, whoever owns the machine.
// - Prices. Unit prices on the bill of machines of the same type, region and market, after over before.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "advise/track/realised_interval.h"
#include "advise/track/realised_saving.h"
#include "ledger/ledger.h"
#include "model/history.h"
#include "model/occupancy.h"
#include "model/proposal.h"

namespace stint {

enum class WorkMeasure { kActive, kHeld, kBought };
std::string_view name_of(WorkMeasure m);  // "active GPU-hours (telemetry)", "GPU-hours held by jobs", "GPU-hours bought"

/// One change, or several that cannot be told apart.
struct TrackedSaving {
  std::vector<int64_t> numbers;    ///< AppliedChange::number, ascending
  std::vector<std::string> nodes;  ///< whose cost and work were looked at, ascending
  bool all_of_tenants = false;     ///< the work had left the nodes of the change
  std::optional<Money> promised_per_month, promised_low, promised_high;
  Interval before_period, after_period;  ///< empty where there is not enough
  CostAndWork before, after;
  WorkMeasure measure = WorkMeasure::kActive;
  double price_index = 1;
  std::optional<RealisedSaving> realised;    ///< none: `notes` say what is missing
  std::optional<RealisedInterval> interval;  ///< of realised; none with fewer than two weeks before or after
  std::optional<SavingVerdict> verdict;      ///< where there was a promise
  std::optional<Money> cost;                 ///< of carrying it out
  std::optional<Return> on_cost;
  std::vector<std::string> notes;
};

struct TrackInput {
  const History& history;
  const Occupancy& occupancy;
  const Ledger& ledger;  ///< effective cost, posted over history.period from `occupancy`
  std::span<const AppliedChange> applied;
};

/// @return by the first number of each.
std::vector<TrackedSaving> track_savings(const TrackInput& input);

}  // namespace stint
