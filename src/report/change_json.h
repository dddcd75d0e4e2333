// A Change as JSON for people to read: as codec/change_json writes it, its texts fit to show.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "model/change.h"

namespace stint {

nlohmann::ordered_json to_json(const Change& change);

}  // namespace stint
