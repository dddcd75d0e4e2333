// Budgets against imported bills: text and JSON.
#pragma once

#include <string>
#include <vector>

#include "advise/track/budget_outlook.h"
#include "report/table.h"

namespace stint {

/// @param notes  what a reader must know of the figures.
std::string budget_outlook_text(const BudgetOutlook& outlook, const std::vector<std::string>& notes, Screen screen);
/// Amounts are decimal texts. Schema: docs/formats.md.
std::string budget_outlook_json(const BudgetOutlook& outlook, const std::vector<std::string>& notes);

}  // namespace stint
