#include "cli/json_text.h"

#include <nlohmann/json.hpp>

namespace stint {

std::string text_of(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "" : value.dump();
}

std::string money_of(const nlohmann::ordered_json& money) {
  return money.is_null() ? "" : text_of(money["amount"]) + " " + text_of(money["currency"]);
}

std::string indented(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string indented(const nlohmann::json& json) { return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace stint
