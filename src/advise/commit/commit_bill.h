// Commitments on one instance type, and what a plan to buy them costs when it is billed hour by hour.
//
// A reservation is owed in full: its upfront fee at once and its hourly fee for the whole term, used or not, as AWS, Azure and Google
// Cloud bill them today. (The reservations of Wang, Li and Liang 2013 ask the hourly fee for used hours alone: HourlyFee::kWhenUsed.)
// A reservation is tied to no machine: in every hour the reservations held cover whatever runs, and on-demand pays for the rest.
// The bill is made by walking through the hours. Planners have other formulas; this is what judges them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/result.h"

namespace stint {

/// Instances in use per hour, from the first hour on. Each ≥ 0.
using HourlyDemand = std::vector<int64_t>;

struct CommitOffer {
  std::string name;  ///< for people: "1y all-upfront"
  Money upfront;     ///< paid when bought
  Money hourly;      ///< fee per hour
  int64_t term_hours = 0;
};

/// Already bought: what it costs is spent, what it covers is free.
struct OwnedCommitment {
  int64_t count = 0;
  int64_t until_hour = 0;  ///< covers the hours before this one
};

enum class HourlyFee { kAlways, kWhenUsed };

struct CommitMarket {
  Money on_demand;  ///< per instance-hour
  std::vector<CommitOffer> offers;
  std::vector<OwnedCommitment> owned;
  HourlyFee fee = HourlyFee::kAlways;  ///< kWhenUsed: one offer alone
};

struct CommitPurchase {
  int64_t hour = 0;  ///< bought before this hour, which it already covers
  uint32_t offer = 0;
  int64_t count = 0;
  bool operator==(const CommitPurchase&) const = default;
};
/// Ascending by hour, then offer.
using CommitPlan = std::vector<CommitPurchase>;

/// Are prices and terms sound, the currency one, and every sum far from overflow? @return error naming the remedy.
Status check_market(const CommitMarket& market, std::span<const int64_t> demand);

/// What the plan costs. The same money twice: as it is paid, and as it is amortised over the hours of each term.
struct CommitBill {
  Money total;  ///< everything owed: on_demand + upfront + hourly
  Money on_demand;
  Money upfront;
  Money hourly;
  Money used;                           ///< amortised: commitments in hours in which something ran on them
  Money unused;                         ///< amortised: in hours in which nothing did
  Money after_end;                      ///< amortised: hours of a term after the last hour of demand
  Money all_on_demand;                  ///< what the same demand costs without any purchase (what is owned covers its part)
  int64_t reserved_instance_hours = 0;  ///< within the demand
  int64_t used_instance_hours = 0;
};

/// @param plan  of offers of the market, hours within the demand. Everything as check_market() demands.
CommitBill bill_plan(const CommitMarket& market, std::span<const int64_t> demand, const CommitPlan& plan);

/// Demand that what is already owned does not cover.
HourlyDemand uncovered_demand(const CommitMarket& market, std::span<const int64_t> demand);

}  // namespace stint
