#include "model/price.h"

#include <array>

namespace stint {

std::string_view name_of(CommitmentTerm t) {
  constexpr std::array<std::string_view, 3> kNames = {"", "1y", "3y"};
  return kNames[static_cast<size_t>(t)];
}

std::string_view name_of(PaymentOption p) {
  constexpr std::array<std::string_view, 4> kNames = {"", "no-upfront", "partial-upfront", "all-upfront"};
  return kNames[static_cast<size_t>(p)];
}

}  // namespace stint
