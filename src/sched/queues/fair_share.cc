#include "sched/queues/fair_share.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace stint::sched {

namespace {

__extension__ using Wide = __int128;

// Weights as whole numbers: a millionth of a weight is finer than anyone sets, and 2^63 is not reached below 9e12.
constexpr double kWeightScale = 1e6;
// What rounding took, as a part of 2^32 of a unit.
constexpr int kFractionBits = 32;

struct Line {
  int64_t want = 0;  // in all
  int64_t share = 0;
  int64_t weight = 0;    // scaled
  int64_t fraction = 0;  // cut off last
  size_t claim = 0;
  [[nodiscard]] bool open() const { return weight > 0 && share < want; }
};

int64_t wanted(const ShareClaim& c) { return c.limit == kUnlimitedAmount ? c.request : std::min(c.limit, c.request); }

/// Weights of one round, corrected for past usage: max(0, n + k·(n − usage)) with n the normalised weight.
std::vector<int64_t> corrected_weights(std::span<Line* const> lines, std::span<const ShareClaim> claims, double usage_weight) {
  std::vector<int64_t> weights;
  double sum = 0;
  for (const Line* line : lines)
    sum += static_cast<double>(line->weight);
  for (const Line* line : lines) {
    if (usage_weight == 0) {
      weights.push_back(line->weight);
      continue;
    }
    const double normal = static_cast<double>(line->weight) / sum;
    const double corrected = normal + usage_weight * (normal - claims[line->claim].usage);
    weights.push_back(std::llround(std::max(0.0, corrected) * kWeightScale * 1e3));
  }
  return weights;
}

/// One round over the unsatisfied lines of one priority. @return whether somebody took less than the portion.
bool hand_out_portions(std::span<Line* const> lines, std::span<const int64_t> weights, int64_t unit, int64_t& rest) {
  Wide sum = 0;
  for (const int64_t w : weights)
    sum += w;
  if (sum == 0) return false;
  const int64_t to_divide = rest;
  bool somebody_took_less = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    Line& line = *lines[i];
    const Wide portion_times_sum = static_cast<Wide>(to_divide) * weights[i];
    const int64_t still_wanted = line.want - line.share;
    int64_t given = 0;
    if (static_cast<Wide>(still_wanted) * sum <= portion_times_sum) {
      given = still_wanted;
      somebody_took_less |= static_cast<Wide>(still_wanted) * sum < portion_times_sum;
    } else {
      const Wide unit_times_sum = sum * unit;
      given = static_cast<int64_t>(portion_times_sum / unit_times_sum) * unit;
      const auto cut = static_cast<long double>(portion_times_sum % unit_times_sum) / static_cast<long double>(unit_times_sum);
      line.fraction = static_cast<int64_t>(cut * static_cast<long double>(int64_t{1} << kFractionBits));
    }
    line.share += given;
    rest -= given;
  }
  return somebody_took_less;
}

void divide_over_quota(std::vector<Line>& lines, std::span<const ShareClaim> claims, const ShareDivision& division,
                       int64_t& rest) {
  std::vector<int32_t> priorities;
  for (const ShareClaim& c : claims)
    priorities.push_back(c.priority);
  std::sort(priorities.begin(), priorities.end(), std::greater<>());
  priorities.erase(std::unique(priorities.begin(), priorities.end()), priorities.end());
  for (const int32_t priority : priorities) {
    bool again = true;
    while (again && rest > 0) {
      std::vector<Line*> unsatisfied;
      for (Line& line : lines)
        if (claims[line.claim].priority == priority && line.open()) unsatisfied.push_back(&line);
      if (unsatisfied.empty()) break;
      again = hand_out_portions(unsatisfied, corrected_weights(unsatisfied, claims, division.usage_weight), division.unit, rest);
    }
  }
}

void hand_out_units(std::vector<Line>& lines, std::span<const ShareClaim> claims, int64_t unit, int64_t& rest) {
  std::vector<Line*> order;
  for (Line& line : lines)
    if (line.open()) order.push_back(&line);
  std::sort(order.begin(), order.end(), [&](const Line* a, const Line* b) {
    const ShareClaim &ca = claims[a->claim], &cb = claims[b->claim];
    if (ca.priority != cb.priority) return ca.priority > cb.priority;
    if (a->fraction != b->fraction) return a->fraction > b->fraction;
    if (ca.created != cb.created) return ca.created < cb.created;
    return a->claim < b->claim;
  });
  for (Line* line : order) {
    const int64_t piece = std::min(unit, rest);
    line->share += piece;
    rest -= piece;
  }
}

}  // namespace

ShareResult divide_fair_share(const ShareDivision& division, std::span<const ShareClaim> claims) {
  CHECK(division.total >= 0 && division.unit > 0, "dividing {} in units of {}", division.total, division.unit);
  std::vector<Line> lines(claims.size());
  int64_t rest = division.total;
  for (size_t i = 0; i < claims.size(); ++i) {
    const ShareClaim& c = claims[i];
    CHECK(c.weight >= 0 && c.weight < 1e12, "over-quota weight {}", c.weight);
    const int64_t want = wanted(c);
    const int64_t first = c.deserved == kUnlimitedAmount ? division.total : c.deserved;
    const int64_t share = division.over_quota_only ? c.initial : std::min(first, want);
    lines[i] = {.want = want, .share = share, .weight = std::llround(c.weight * kWeightScale), .fraction = 0, .claim = i};
    if (!division.over_quota_only) rest -= share;
  }
  if (rest > 0) {
    divide_over_quota(lines, claims, division, rest);
    hand_out_units(lines, claims, division.unit, rest);
  }
  ShareResult result;
  result.remaining = std::max<int64_t>(rest, 0);
  for (const Line& line : lines)
    result.share.push_back(line.share);
  return result;
}

std::strong_ordering operator<=>(const DominantShare& a, const DominantShare& b) {
  return static_cast<Wide>(a.held) * b.total <=> static_cast<Wide>(b.held) * a.total;
}

DominantShare dominant_share(std::span<const int64_t> held, std::span<const int64_t> totals) {
  CHECK(held.size() == totals.size(), "{} amounts of {} resources", held.size(), totals.size());
  DominantShare largest;
  for (size_t i = 0; i < held.size(); ++i) {
    const DominantShare share{held[i], totals[i]};
    if (totals[i] > 0 && share > largest) largest = share;
  }
  return largest;
}

}  // namespace stint::sched
