// A proof that no plan places more.
//
// GPUs of patterns a with totals x place Σ w·min(d, x) of a demand d. For any prices 0 ≤ λ ≤ w per instance this is at most
// Σ (w − λ)·d + GPUs × max over patterns of Σ λ·a: what is not priced at the demand, what is at the best pattern. The least such
// bound is the optimum of the plan in fractions of GPUs. The prices come from a subgradient walk (Held, Wolfe and Crowder 1974)
// and are rounded to fractions; the bound is then computed in whole numbers, so it holds however good the prices are.
#pragma once

#include <cstdint>
#include <span>

#include "advise/share/mig_patterns.h"

namespace stint {

/// @param patterns  all that one empty GPU can hold, dominated ones left out. @return compute slices.
int64_t mig_bound(const MigGeometry& geometry, std::span<const MigCounts> patterns, const MigCounts& demand, size_t gpus);

}  // namespace stint
