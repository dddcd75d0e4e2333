#include "advise/track/realised_interval.h"

#include <algorithm>
#include <vector>

#include "base/prng.h"

namespace stint {
namespace {

CostAndWork drawn(std::span<const CostAndWork> weeks, Prng& prng) {
  CostAndWork sum{.length = {}, .cost = Money::nanos(0, weeks.front().cost.currency())};
  for (size_t i = 0; i < weeks.size(); ++i) {
    const CostAndWork& week = weeks[prng.below(weeks.size())];
    sum.length = sum.length + week.length;
    sum.cost += week.cost;
    sum.gpu_hours += week.gpu_hours;
    sum.gpu_hours_there += week.gpu_hours_there;
  }
  return sum;
}

}  // namespace

std::optional<RealisedInterval> realised_interval(std::span<const CostAndWork> before, std::span<const CostAndWork> after,
                                                  double price_index, uint64_t seed, int draws) {
  if (before.size() < 2 || after.size() < 2) return std::nullopt;
  Prng prng(seed);
  std::vector<Money> savings;
  for (int d = 0; d < draws; ++d) {
    const CostAndWork b = drawn(before, prng);
    const CostAndWork a = drawn(after, prng);
    if (b.cost.count_nanos() <= 0) continue;  // weeks in which nothing was there say nothing of a saving
    savings.push_back(realised_saving(b, a, price_index).per_month);
  }
  if (savings.empty()) return std::nullopt;
  std::ranges::sort(savings);
  const auto rank = [&](size_t pct) { return savings[std::max<size_t>((pct * savings.size() + 99) / 100, 1) - 1]; };
  return RealisedInterval{.p10 = rank(10),
                          .p90 = rank(90),
                          .weeks_before = static_cast<int64_t>(before.size()),
                          .weeks_after = static_cast<int64_t>(after.size())};
}

}  // namespace stint
