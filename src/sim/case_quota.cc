#include "sim/case_quota.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sched/queues/fair_share.h"

namespace stint {

namespace {

using namespace sched;

// Cases give amounts as numbers with at most one decimal; the division is in thousandths.
constexpr double kParts = 1000;
int64_t parts(double amount) { return std::llround(amount * kParts); }

std::vector<std::string> in_words(const std::vector<VictimCase::Victim>& victims) {
  std::vector<std::string> out;
  for (const auto& v : victims)
    out.push_back(fmt::format("{} ({})", v.name, v.reason));
  return out;
}

}  // namespace

std::string run_fair_share_case(const FairShareCase& c) {
  std::vector<ShareClaim> claims;
  const auto amount = [](std::optional<double> a) { return a ? parts(*a) : kUnlimitedAmount; };
  for (const auto& q : c.queues)
    claims.push_back({.deserved = amount(q.deserved),
                      .limit = amount(q.limit),
                      .request = parts(q.request),
                      .initial = parts(q.initial_share),
                      .weight = q.weight,
                      .usage = q.usage,
                      .priority = q.priority,
                      .created = q.created});
  const ShareResult result = divide_fair_share({.total = parts(c.total),
                                                .unit = static_cast<int64_t>(kParts),
                                                .usage_weight = c.k_value,
                                                .over_quota_only = c.over_quota_only},
                                               claims);
  for (size_t i = 0; i < c.queues.size(); ++i) {
    const auto expected = c.share.find(c.queues[i].name);
    if (expected != c.share.end() && parts(expected->second) != result.share[i])
      return fmt::format("queue {}: share {}, expected {}", c.queues[i].name, static_cast<double>(result.share[i]) / kParts,
                         expected->second);
  }
  if (c.remaining && parts(*c.remaining) != result.remaining)
    return fmt::format("remaining {}, expected {}", static_cast<double>(result.remaining) / kParts, *c.remaining);
  return "";
}

std::string difference_of(const VictimCase& c, const std::vector<VictimCase::Victim>& victims) {
  if (c.victims) {
    std::vector<VictimCase::Victim> expected = *c.victims;
    std::sort(expected.begin(), expected.end());
    if (victims != expected)
      return fmt::format("victims [{}], expected [{}]", fmt::join(in_words(victims), ", "), fmt::join(in_words(expected), ", "));
  }
  if (c.victim_count && *c.victim_count != static_cast<int64_t>(victims.size()))
    return fmt::format("{} victims, expected {}", victims.size(), *c.victim_count);
  if (!c.reasons.empty()) {
    std::vector<std::string> reasons, expected = c.reasons;
    for (const auto& v : victims)
      reasons.push_back(v.reason);
    std::sort(reasons.begin(), reasons.end());
    std::sort(expected.begin(), expected.end());
    if (reasons != expected)
      return fmt::format("reasons [{}], expected [{}]", fmt::join(reasons, ", "), fmt::join(expected, ", "));
  }
  return "";
}

}  // namespace stint
