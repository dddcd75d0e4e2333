// A list of things as a JSON array.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace stint {

/// @param convert  one thing to JSON.
template <typename T, typename F>
nlohmann::ordered_json array_of(const std::vector<T>& items, F convert) {
  auto out = nlohmann::ordered_json::array();
  for (const T& item : items)
    out.push_back(convert(item));
  return out;
}

}  // namespace stint
