// Nodes by what an hour of one of their GPUs costs, for jobs that do not mind which GPU they get.
#pragma once

#include <cstdint>
#include <vector>

#include "base/money.h"
#include "sched/ids.h"

namespace stint::sched {

class PriceTiers {
 public:
  struct Tier {
    int64_t nanos_per_hour = 0;
    std::vector<NodeId> nodes;  ///< ascending; never empty
  };

  /// @param gpu_rate  of one GPU; 0 = it costs nothing more to use, or its price is not known
  void set(NodeId n, Rate gpu_rate);
  void remove(NodeId n);
  /// Is there a choice to make?
  [[nodiscard]] bool differ() const { return tiers_.size() > 1; }
  /// Ascending by price.
  [[nodiscard]] const std::vector<Tier>& tiers() const { return tiers_; }

 private:
  friend struct SnapshotParts;
  std::vector<Tier> tiers_;
};

}  // namespace stint::sched
