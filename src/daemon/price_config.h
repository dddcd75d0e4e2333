// Prices that change with time, as the configuration writes them: field `prices`.
//
//   [{"machines": ["gpu-*"], "hours": "22:00-06:00", "weekends": true, "per_hour": "8.10"},
//    {"machines": ["spot-1"], "from": [{"at": "2026-10-01T00:00:00Z", "per_hour": "3.20"}, …]}]
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "base/result.h"
#include "daemon/json_fields.h"
#include "model/price_rule.h"

namespace stint {

/// @return error naming the rule, counted from 1, and its field.
Result<std::vector<PriceRule>> read_price_rules(JsonFields& fields, Currency currency);
/// What read_price_rules() reads as these.
nlohmann::ordered_json to_json(std::span<const PriceRule> rules);

}  // namespace stint
