// What discounts that are not known here would be worth beside a plan: shown as such, never counted in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "advise/audit_report.h"
#include "advise/find/finder.h"

namespace stint {

/// Discounts that are looked at: 27 % is what AWS publishes of savings plans for a year on GPU machines, 40 % what large customers speak of.
inline constexpr int64_t kLookedAtPct[] = {27, 40};

/// For each provider that the plan leaves machines of on demand: what a savings plan of a year at each of kLookedAtPct would take off the plan,
/// exact hour by hour. Those of which the user has said what theirs is are left out.
/// @param plan  with books as the plan leaves them.
std::vector<DiscountOutlook> discount_outlooks(const FleetView& plan);
/// One line a provider: "your discount here: …".
std::vector<std::string> discount_notes(const std::vector<DiscountOutlook>& outlooks);

/// Percent below on-demand.
struct AssumedDiscount {
  int64_t reserved_pct = 0;  ///< for a year, nothing upfront
  int64_t spot_pct = 0;
  bool operator==(const AssumedDiscount&) const = default;
};
/// With these prices of spot and of commitments for a year in place of those known, in every region, marked as estimates.
Catalog at_assumed_discount(const Catalog& catalog, const AssumedDiscount& discount);

/// "reserved=30-60%,spot=60-80%": its two ends, the smaller discounts first. @return error saying what to write.
Result<std::vector<AssumedDiscount>> parse_assumed_discounts(std::string_view text);

}  // namespace stint
