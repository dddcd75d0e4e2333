// Time zones by their IANA names, from this machine's tables.
#pragma once

#include <string>

#include "base/local_zone.h"
#include "base/result.h"

namespace stint {

/// Its changes from 1970 to 2100. Sets TZ for a moment: call it before there are threads.
/// @return kNotFound for a name that this machine's tables (/usr/share/zoneinfo) do not have.
Result<LocalZone> find_time_zone(const std::string& name);

}  // namespace stint
