// Node hours: for every node and hour, who had which weight of its GPUs and why the rest was idle. The ledger
// spreads a bill line over these weights; the statement counts GPU-hours with them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ledger/ledger.h"
#include "model/history.h"
#include "model/occupancy.h"

namespace stint {

/// A whole GPU for an hour. A MIG instance weighs (compute slices / all + memory slices / all) / 2 of it, which
/// is a whole number of 112ths on every geometry with 7 or 4 compute and 8 or 4 memory slices.
inline constexpr int64_t kGpuHourWeight = kWholeDevice * 112;

class NodeHours {
 public:
  /// What a weight is for. Interned: a key's id is its index in keys().
  struct Key {
    TenantId tenant;
    WorkloadKind kind = WorkloadKind::kUnknown;
    IdleCause cause = IdleCause::kNone;
    bool activity_known = true;
    auto operator<=>(const Key&) const = default;
  };
  struct Bucket {
    uint32_t key = 0;
    int64_t weight = 0;  ///< > 0, of kGpuHourWeight
  };
  struct Hour {
    int64_t hour_index = 0;
    DeviceParts present = 0;  ///< part of the hour the node was there
    uint32_t first = 0;       ///< range of buckets
    uint32_t count = 0;
  };

  /// @param unowned  the empty tenant's id in the table that the occupancy's ids belong to.
  static NodeHours build(const History& history, const Occupancy& occupancy, TenantId unowned);

  /// Ascending by hour; empty for nodes without GPUs.
  [[nodiscard]] std::span<const Hour> of(NodeId node) const;
  /// Those of them that `period` touches.
  [[nodiscard]] std::span<const Hour> of(NodeId node, Interval period) const;
  [[nodiscard]] std::span<const Bucket> buckets(const Hour& hour) const {
    return std::span(buckets_).subspan(hour.first, hour.count);
  }
  [[nodiscard]] std::span<const Key> keys() const { return keys_; }
  /// Physical GPUs, seen or inferred.
  [[nodiscard]] int64_t gpu_count(NodeId node) const { return gpu_counts_[node.index()]; }

 private:
  friend class NodeHoursBuilder;
  std::vector<Key> keys_;
  std::vector<Bucket> buckets_;
  std::vector<Hour> hours_;
  std::vector<size_t> first_hour_of_node_;  // one more than nodes
  std::vector<int64_t> gpu_counts_;
};

/// `weight` × the part of hour `hour_index` that lies in `period`; the parts of a partition sum to that of the whole.
int64_t weight_within(int64_t weight, int64_t hour_index, Interval period);

}  // namespace stint
