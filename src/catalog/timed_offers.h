// Markets on which machines are had for a time that is said ahead: AWS Capacity Blocks (whole days, paid at once, begun at a day that is agreed) and
// Google's flex-start (at most a week, begun when there is room). Facts, each with source and date; a price that no source quotes is not known.
//
// They are beside the markets of prices.csv: what they cost depends on when and how long, so no row "per hour" says it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/price.h"

namespace stint {

enum class TimedMarket : uint8_t { kCapacityBlock, kFlexStart };
std::string_view name_of(TimedMarket market);  // "capacity-block", "flex-start"

struct TimedOffer {
  std::string provider;
  std::string region;         ///< empty = everywhere
  std::string instance_type;  ///< "*" = every type of the provider
  TimedMarket market = TimedMarket::kCapacityBlock;
  std::optional<Rate> rate;  ///< of the whole instance; none = not known
  int64_t fewest_hours = 1, most_hours = 1;
  int64_t whole_hours = 1;  ///< paid in multiples of these
  int64_t wait_hours = 0;   ///< it may begin so much later than asked for
  bool upfront = false;
  std::string source;
  Instant as_of;
};

/// catalog/timed.csv as it was when this binary was built.
std::span<const TimedOffer> timed_offers();
/// @return error with FILE:LINE: of the first row that is not as it must be.
Result<std::vector<TimedOffer>> parse_timed_offers(std::string_view csv);

/// Hours that are paid for a stretch of so many: rounded up to what is sold. Blocks of more than two weeks are sold by the week.
/// none: it is longer than what is sold at once.
std::optional<int64_t> paid_hours(const TimedOffer& offer, int64_t hours);

}  // namespace stint
