// Revenue by client and month, from CSV: columns client, month (2026-10), revenue; also project, currency (USD) and budget (what
// the work may cost). Other columns are passed over. docs/formats.md, "Revenue".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/revenue.h"

namespace stint {

/// @param source  file name, for messages. @return at least one row; an error naming file and line of the first wrong one: no client,
/// no month, no amount, a negative budget, or the same client, project and month twice.
Result<std::vector<RevenueRow>> read_revenue(std::string_view bytes, const std::string& source);

}  // namespace stint
