// A launch as people and programs see it: what would be bought, and what it cost.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "launch/launch_plan.h"
#include "launch/launch_record.h"
#include "report/table.h"

namespace stint {

/// The offers in the order in which they are tried.
std::string launch_offers_table(const LaunchPlan& plan, const Screen& screen);
/// A line for each machine and their sum.
std::string launch_bill_table(const LaunchPlan& plan, const LaunchRecord& record, Instant now, const Screen& screen);
/// The whole of it, amounts as decimals in US dollars.
nlohmann::ordered_json launch_json(const LaunchPlan& plan, const LaunchRecord& record, Instant now);

}  // namespace stint
