// Proof as JSON, for the audit and for plans (docs/schema/audit.json).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "advise/audit_report.h"

namespace stint {

/// null where no replay was asked for.
nlohmann::ordered_json to_json(const std::optional<Proof>& proof);
nlohmann::ordered_json to_json(const std::optional<PlanProof>& proof);

}  // namespace stint
