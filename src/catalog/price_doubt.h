// How sure a price is: a figure that rests on a doubtful one says so.
#pragma once

#include <cstdint>
#include <string_view>

#include "catalog/catalog.h"

namespace stint {

/// Why a figure that rests on a price is less sure than it looks; ascending, so the worst of several is their maximum.
enum class PriceDoubt : uint8_t {
  kNone,
  kSecondary,  ///< quoted by another than the provider
  kOld,        ///< older than kPriceStaleAfter
  kEstimated,  ///< derived, or too old or too good to be a quote
};
std::string_view name_of(PriceDoubt doubt);  // "", "secondary", "old", "estimated"
/// A source that begins with "secondary source" is one.
[[nodiscard]] PriceDoubt doubt_of(const PriceRow& price, Instant now);

}  // namespace stint
