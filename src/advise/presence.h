// When each machine was there: by its bill where it has one, else by what telemetry and inventory say.
#pragma once

#include "advise/node_facts.h"
#include "ledger/node_hours.h"

namespace stint {

/// Hours a line charges; none when its quantity is in another unit.
std::optional<double> charged_hours(const BillLine& line);

/// Fills on_s of every node's timeline, and hours. A machine with usage lines was there while it was charged; where a
/// line charges fewer hours than its period has, those with telemetry come first and the rest is spread evenly.
/// @param fleet  with the telemetry part of the timelines filled.
void add_presence(FleetFacts& fleet, const NodeHours& hours, const Ledger& ledger);

}  // namespace stint
