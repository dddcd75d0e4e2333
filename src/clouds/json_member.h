// Members of JSON objects that others wrote: what is missing or of another kind is empty.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace stint {

std::string text_member(const nlohmann::json& object, const char* name);

}  // namespace stint
