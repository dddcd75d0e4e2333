#include "clouds/json_member.h"

#include <nlohmann/json.hpp>

namespace stint {

std::string text_member(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace stint
