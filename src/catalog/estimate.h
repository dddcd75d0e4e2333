// What a plan of infrastructure costs before it is carried out: its GPU machines at the catalogue's prices, before and after.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "catalog/catalog.h"
#include "model/infrastructure_plan.h"

namespace stint {

/// One side of one resource: what its machines cost in a month of 730 hours.
struct MachineCost {
  MachineGroup group;  ///< its region filled in where the plan does not say
  std::string gpu_model;
  int64_t gpu_milli = 0;  ///< of all of them, as planned
  Money per_month;        ///< `count` machines, all hours
  Money least;            ///< an autoscaler's bounds; else as per_month
  Money most;
  PriceRow price;  ///< of one machine
};

struct EstimateLine {
  std::string address;
  PlannedAction action = PlannedAction::kKeep;
  std::optional<MachineCost> before;
  std::optional<MachineCost> after;
  std::vector<std::string> notes;
};

/// What is not in the sums, and why.
struct NotEstimated {
  std::string address;
  std::string why;
};

struct Estimate {
  std::vector<EstimateLine> lines;          ///< resources with GPUs, in the plan's order
  std::vector<NotEstimated> not_estimated;  ///< resources that have, or may have, GPUs
  int64_t without_gpus = 0;                 ///< resources whose machines have none
  int64_t others = 0;                       ///< resources that run no machines
  Money before, after, least, most;         ///< per month; least and most: after, by the autoscalers' bounds
  std::map<std::string, int64_t> gpu_milli_before, gpu_milli_after;  ///< by model
};

/// The fleet that the plan changes.
struct FleetToday {
  Money gpu_machines;                   ///< per month
  std::map<std::string, int64_t> gpus;  ///< by model
};

/// What the plan has to keep. With a FleetToday both are of the fleet with the plan carried out, else of the plan alone.
struct EstimateLimits {
  std::optional<Money> budget;           ///< per month
  std::optional<Money> most_more;        ///< per month, after less before
  std::map<std::string, int64_t> quota;  ///< GPUs at most, by model
};

struct LimitVerdict {
  bool holds = false;
  std::string what;  ///< "budget of 20,000.00 USD a month: 18,400.00 USD"
};

/// @return one for each limit. Money is judged by the machines as planned, not by the autoscalers' bounds.
/// Error when a limit's currency is not that of the prices.
Result<std::vector<LimitVerdict>> judge_estimate(const Estimate& estimate, const std::optional<FleetToday>& today,
                                                 const EstimateLimits& limits);

/// @param region  for machines whose region the plan does not say; empty = the cheapest that has a price, with a note.
/// @return error when prices are in several currencies, or the sum is beyond all sense.
Result<Estimate> estimate_plan(const Catalog& catalog, const InfrastructurePlan& plan, const std::string& region);

}  // namespace stint
