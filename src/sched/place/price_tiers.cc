#include "sched/place/price_tiers.h"

#include <algorithm>

namespace stint::sched {

void PriceTiers::remove(NodeId n) {
  for (Tier& tier : tiers_)
    if (const auto at = std::ranges::lower_bound(tier.nodes, n); at != tier.nodes.end() && *at == n) tier.nodes.erase(at);
  std::erase_if(tiers_, [](const Tier& tier) { return tier.nodes.empty(); });
}

void PriceTiers::set(NodeId n, Rate gpu_rate) {
  remove(n);
  const int64_t nanos = gpu_rate.per_hour().count_nanos();
  auto tier = std::ranges::lower_bound(tiers_, nanos, {}, &Tier::nanos_per_hour);
  if (tier == tiers_.end() || tier->nanos_per_hour != nanos) tier = tiers_.insert(tier, Tier{nanos, {}});
  tier->nodes.insert(std::ranges::lower_bound(tier->nodes, n), n);
}

}  // namespace stint::sched
