// Key figures of a period: text and JSON.
#pragma once

#include <string>
#include <vector>

#include "advise/node_facts.h"
#include "ledger/kpis.h"
#include "report/table.h"

namespace stint {

/// @param use  of the same period. @param notes  what a reader must know of the figures.
std::string kpis_text(const Kpis& kpis, const FleetUse& use, const std::vector<std::string>& notes, Screen screen);
/// Amounts are decimal texts, durations seconds. Schema: docs/formats.md. @param changes  as savings_json() has them.
std::string kpis_json(const Kpis& kpis, const FleetUse& use, const std::vector<std::string>& notes, const std::string& changes);

}  // namespace stint
