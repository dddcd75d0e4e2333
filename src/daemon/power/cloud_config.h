// The clouds of `power` in the daemon's configuration: `aws`, `gcp` and `azure`, and what machines of each are made of.
#pragma once

#include <string>
#include <string_view>

#include "backends/capacity/clouds_capacity.h"
#include "base/result.h"

namespace stint {

class JsonFields;
/// @param fields  of `power`. @return error naming the file, the object and the field.
Result<CloudSettings> read_clouds(JsonFields& fields);
/// A document of these alone. @return error naming the source, and when there is none.
Result<CloudSettings> parse_clouds(std::string_view json, const std::string& source);

}  // namespace stint
