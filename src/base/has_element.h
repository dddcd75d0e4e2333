// Whether a list holds a value.
#pragma once

namespace stint {

template <typename Range, typename T>
[[nodiscard]] bool has_element(const Range& all, const T& one) {
  for (const auto& each : all)
    if (each == one) return true;
  return false;
}

}  // namespace stint
