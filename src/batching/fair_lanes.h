// Who is next in a bucket of requests: lanes by priority, in each a line per tenant, the tenants by what they have had.
//
// Start-time fair queueing (Goyal, Vin, Cheng 1996): a tenant's virtual time grows by items ÷ weight when a request of it is
// taken, the tenant with the least goes next, and one that comes back after a pause starts where the others are. Virtual time
// is per model, so a tenant gains nothing by spreading over shapes or priorities.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "batching/indexed_heap.h"
#include "batching/request_table.h"

namespace stint::batching {

class FairLanes {
 public:
  /// @param bucket_models  the model of each bucket, ascending from 0. @param weights  per tenant, 1 … kHeaviest.
  FairLanes(RequestTable& table, const std::vector<uint32_t>& bucket_models, const std::vector<int64_t>& weights);

  static constexpr int64_t kHeaviest = 100;

  /// The request in `slot` joins, or leaves, the line its bucket, priority and tenant name.
  void add(uint32_t slot);
  void remove(uint32_t slot);
  /// Its items count against its tenant. It is in its line still.
  void charge(uint32_t slot);

  /// The request that goes next in this lane; kNoSlot when none waits there.
  [[nodiscard]] uint32_t next(uint32_t bucket, int priority);
  /// The most urgent lane in which a request waits; kPriorities when the bucket is empty.
  [[nodiscard]] int first_lane(uint32_t bucket) const;
  /// Items that wait in the bucket, as urgent as `priority` or more.
  [[nodiscard]] int64_t items(uint32_t bucket, int priority = kPriorities - 1) const;
  /// What the tenant of the request in `slot` has had.
  [[nodiscard]] int64_t virtual_time(uint32_t slot) const { return had_[tenant_of(slot)].virtual_time; }
  /// Requests that wait of the tenant at the model.
  [[nodiscard]] int64_t waiting(uint32_t model, uint32_t tenant) const { return had_[model * tenants_ + tenant].waiting; }

 private:
  struct Line {
    uint32_t head = kNoSlot, tail = kNoSlot;
  };
  struct Had {
    int64_t virtual_time = 0;
    int64_t waiting = 0;
  };
  struct Lane {
    IndexedHeap<int64_t> tenants;  // by virtual time as it was when they were put in: never more than it is
    int64_t items = 0;
  };
  [[nodiscard]] size_t lane_of(uint32_t slot) const;
  [[nodiscard]] size_t tenant_of(uint32_t slot) const;

  RequestTable& table_;
  std::vector<uint32_t> bucket_models_;
  std::vector<int64_t> weights_;
  size_t tenants_;
  std::vector<uint32_t> places_;      // of the tenants in the lanes' heaps
  std::vector<Line> lines_;           // lane × tenant
  std::vector<Lane> lanes_;           // bucket × priority
  std::vector<Had> had_;              // model × tenant
  std::vector<int64_t> virtual_now_;  // per model: of the tenant taken last
};

}  // namespace stint::batching
