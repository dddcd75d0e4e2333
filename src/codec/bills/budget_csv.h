// Budgets by client and month, from CSV: columns client (`*` = the whole bill), budget; also month (2026-10; empty = every month) and
// currency (USD). Other columns are passed over. docs/formats.md, "Budgets".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/client_budget.h"

namespace stint {

/// @param source  file name, for messages. @return at least one row; an error naming file and line of the first wrong one: no client,
/// no month, no amount above zero, or the same client and month twice.
Result<std::vector<ClientBudget>> read_budgets(std::string_view bytes, const std::string& source);

}  // namespace stint
