#include "catalog/price_doubt.h"

#include <array>

namespace stint {

std::string_view name_of(PriceDoubt doubt) {
  constexpr std::array<std::string_view, 4> kNames = {"", "secondary", "old", "estimated"};
  return kNames[static_cast<size_t>(doubt)];
}

PriceDoubt doubt_of(const PriceRow& price, Instant now) {
  if (price.estimated) return PriceDoubt::kEstimated;
  if (is_stale(price, now)) return PriceDoubt::kOld;
  return price.source.starts_with("secondary source") ? PriceDoubt::kSecondary : PriceDoubt::kNone;
}

}  // namespace stint
