#include "catalog/timed_offers.h"

#include <algorithm>

#include "base/check.h"
#include "catalog/tables.h"

namespace stint {
namespace {

constexpr int64_t kHoursOfTwoWeeks = 14 * 24;
constexpr int64_t kHoursOfWeek = 7 * 24;

int64_t rounded_up(int64_t hours, int64_t step) { return (hours + step - 1) / step * step; }

}  // namespace

std::string_view name_of(TimedMarket market) { return market == TimedMarket::kCapacityBlock ? "capacity-block" : "flex-start"; }

std::span<const TimedOffer> timed_offers() {
  static const std::vector<TimedOffer> kOffers = [] {
    auto parsed = parse_timed_offers(embedded_timed_csv());
    CHECK(parsed.ok(), "the built-in catalogue is unsound: {}", parsed.error().message);
    return std::move(parsed).value();
  }();
  return kOffers;
}

std::optional<int64_t> paid_hours(const TimedOffer& offer, int64_t hours) {
  int64_t paid = rounded_up(std::max(hours, offer.fewest_hours), offer.whole_hours);
  if (offer.market == TimedMarket::kCapacityBlock && paid > kHoursOfTwoWeeks) paid = rounded_up(paid, kHoursOfWeek);
  return paid <= offer.most_hours ? std::optional(paid) : std::nullopt;
}

}  // namespace stint
