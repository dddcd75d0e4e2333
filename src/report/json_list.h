// What the reports' JSON has often: lists, amounts.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/money.h"

namespace stint {

/// A list of things as a JSON array. @param convert  one thing to JSON.
template <typename T, typename F>
nlohmann::ordered_json array_of(const std::vector<T>& items, F convert) {
  auto out = nlohmann::ordered_json::array();
  for (const T& item : items)
    out.push_back(convert(item));
  return out;
}

/// A number in the currency that is named elsewhere; null where it is not known.
inline nlohmann::ordered_json amount_json(const std::optional<Money>& m) {
  return m ? nlohmann::ordered_json(m->to_double()) : nlohmann::ordered_json(nullptr);
}

/// As it stands, or null.
template <typename T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

/// An exact decimal as text; null where it is not known.
inline nlohmann::ordered_json decimal_json(const std::optional<Money>& m) {
  return m ? nlohmann::ordered_json(m->to_decimal()) : nlohmann::ordered_json(nullptr);
}

}  // namespace stint
