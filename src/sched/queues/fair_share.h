// Fair share: one amount of one resource divided among sibling queues.
//
//   1. Each gets what it deserves, as far as it wants it.
//   2. The rest, by queue priority, in proportion to over-quota weight, less for those that used much in the past. Portions
//      are rounded down to whole units, because a third of a GPU that cannot be placed is of no use.
//   3. What rounding left over goes out in single units, to whom rounding took most.
//
// Whole-number arithmetic throughout: the same claims give the same shares on every machine.
// Sources: deserved quota and over-quota weight as in NVIDIA KAI-Scheduler's resource division; largest remainder for step 3.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace stint::sched {

inline constexpr int64_t kUnlimitedAmount = -1;

/// What one queue brings to the division. Amounts in one resource's smallest unit (milli-GPU, milli-CPU, bytes).
struct ShareClaim {
  int64_t deserved = 0;  ///< kUnlimitedAmount = as much as there is
  int64_t limit = kUnlimitedAmount;
  int64_t request = 0;   ///< held and waited for
  int64_t initial = 0;   ///< given before; ShareDivision::over_quota_only only
  double weight = 1;     ///< over-quota weight, ≥ 0; 0 = nothing beyond what it deserves
  double usage = 0;      ///< fraction of the cluster used in the past, decayed (usage_decay.h); 0 … 1
  int32_t priority = 0;  ///< higher first
  int32_t created = 0;   ///< smaller = older
};

struct ShareDivision {
  int64_t total = 0;             ///< ≥ 0
  int64_t unit = 1;              ///< > 0: portions are whole multiples of it; 1000 for milli-GPU
  double usage_weight = 0;       ///< how much past usage counts, ≥ 0; 0 = not at all
  bool over_quota_only = false;  ///< step 1 has been done: `total` is the rest and `initial` what each got
};

struct ShareResult {
  std::vector<int64_t> share;  ///< by claim
  int64_t remaining = 0;       ///< not wanted, or only by those who may not have it
};

/// @return shares, in the order of `claims`. Their sum may exceed `total` where guarantees do; `remaining` is 0 then.
ShareResult divide_fair_share(const ShareDivision& division, std::span<const ShareClaim> claims);

/// Dominant resource (Ghodsi et al. 2011): the largest of held / total over GPU, CPU and memory, as a fraction that compares
/// exactly. Totals of 0 do not count.
struct DominantShare {
  int64_t held = 0;
  int64_t total = 1;
  friend std::strong_ordering operator<=>(const DominantShare& a, const DominantShare& b);
  friend bool operator==(const DominantShare& a, const DominantShare& b) { return (a <=> b) == 0; }
};
/// @param held, totals  in the same order and unit per resource; equally long. Ties keep the first.
DominantShare dominant_share(std::span<const int64_t> held, std::span<const int64_t> totals);

}  // namespace stint::sched
