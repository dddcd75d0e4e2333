// Key figures of a period: text and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "advise/node_facts.h"
#include "ledger/kpis.h"
#include "report/table.h"

namespace stint {

/// @param use  of the same period. @param notes  what a reader must know of the figures.
std::string kpis_text(const Kpis& kpis, const FleetUse& use, const std::vector<std::string>& notes, Screen screen);
/// Amounts are decimal texts, durations seconds. Schema: docs/formats.md. @param changes  of savings_list().
std::string kpis_json(const Kpis& kpis, const FleetUse& use, const std::vector<std::string>& notes,
                      const nlohmann::ordered_json& changes);

}  // namespace stint
