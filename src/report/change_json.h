// A Change as JSON: kind, nodes and what the kind adds. Drawn in docs/formats.md "change".
#pragma once

#include <nlohmann/json.hpp>

#include "model/change.h"

namespace stint {

nlohmann::ordered_json to_json(const Change& change);

}  // namespace stint
