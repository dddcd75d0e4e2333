// When each machine was there: by its bill where it has one, else by what telemetry and inventory say.
#pragma once

#include <optional>

#include "advise/node_facts.h"
#include "ledger/node_hours.h"

namespace stint {

/// Hours a line charges; none when its quantity is in another unit.
std::optional<double> charged_hours(const BillLine& line);

/// Fills on_s of every node's timeline, and hours. A machine with usage lines was there while it was charged; where a
/// line charges fewer hours than its period has, those with telemetry come first and the rest is spread evenly.
/// @param fleet  with the telemetry part of the timelines filled.
void add_presence(FleetFacts& fleet, const NodeHours& hours, const Ledger& ledger);

/// A bill alone: its lines name machines, their types, regions and hours, which is enough for commitments and regions, though not for use.
/// The History with the machines with GPUs that its bill names, ascending by name: the last part of their resource id, or all of it where
/// two share that.
/// @return none where the History knows machines by itself, or the bill names none of a type that the catalogue knows.
std::optional<History> with_machines_of_bill(const History& history, const Catalog& catalog);

}  // namespace stint
