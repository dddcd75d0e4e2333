#include "daemon/json_values.h"

#include <nlohmann/json.hpp>

namespace stint {

nlohmann::ordered_json time_or_null(const std::optional<Instant>& at) {
  return at ? nlohmann::ordered_json(format_utc(*at)) : nlohmann::ordered_json();
}

nlohmann::ordered_json text_object(const std::vector<std::pair<std::string, std::string>>& pairs) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [key, value] : pairs)
    object[key] = value;
  return object;
}

std::string compact_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string text_member(const nlohmann::json& object, const std::string& name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace stint
