#include "cli/json_text.h"

#include <nlohmann/json.hpp>

#include "report/short_text.h"

namespace stint {

std::string text_of(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? "" : value.dump();
}

std::string money_of(const nlohmann::ordered_json& money) {
  if (money.is_null()) return "";
  const std::string amount = text_of(money["amount"]), code = text_of(money["currency"]);
  const auto currency = Currency::parse(code);
  const auto exact = currency.ok() ? Money::parse(amount, *currency) : Result<Money>(currency.error());
  return exact.ok() ? short_money(*exact) : amount + " " + code;
}

std::string time_of(const nlohmann::ordered_json& time) { return short_utc(text_of(time)); }

std::string indented(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string indented(const nlohmann::json& json) { return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace stint
