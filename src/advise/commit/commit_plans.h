// The planners behind plan_commitments(), one per policy.
#pragma once

#include "advise/commit/commit_policy.h"

namespace stint {

CommitPlan plan_optimal(const CommitMarket& market, std::span<const int64_t> demand);
CommitPlan plan_optimal_by_level(const CommitMarket& market, std::span<const int64_t> demand);
CommitPlan plan_quantile(const CommitMarket& market, std::span<const int64_t> demand);
CommitPlan plan_online(const CommitMarket& market, std::span<const int64_t> demand);
CommitPlan plan_online_joint(const CommitMarket& market, std::span<const int64_t> demand);
CommitPlan plan_stint(const CommitMarket& market, std::span<const int64_t> demand);

}  // namespace stint
