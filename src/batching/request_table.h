// The requests that wait, in slots given out once: found by their id without an allocation.
//
// Open addressing with linear probing and backward shift on removal (Knuth, The Art of Computer Programming, vol. 3, 6.4,
// algorithm R), at most half full.
#pragma once

#include <cstdint>
#include <vector>

#include "batching/request.h"

namespace stint::batching {

inline constexpr uint32_t kNoSlot = UINT32_MAX;

struct WaitingRequest {
  Request request;
  uint32_t bucket = 0;  ///< of all models' buckets
  Instant since;        ///< when it began to wait
  // Neighbours in the tenant's line of this bucket and priority, and in the bucket's order of arrival.
  uint32_t line_before = kNoSlot, line_after = kNoSlot;
  uint32_t arrival_before = kNoSlot, arrival_after = kNoSlot;
};

class RequestTable {
 public:
  /// @param slots  most requests at a time, ≥ 1.
  explicit RequestTable(size_t slots);

  [[nodiscard]] uint32_t find(RequestId id) const;
  /// @return its slot; a free one must be left and the id unknown.
  uint32_t add(const Request& request, uint32_t bucket, Instant since);
  void remove(uint32_t slot);
  [[nodiscard]] size_t size() const { return used_; }
  WaitingRequest& operator[](uint32_t slot) { return slots_[slot]; }
  const WaitingRequest& operator[](uint32_t slot) const { return slots_[slot]; }

 private:
  [[nodiscard]] size_t home(RequestId id) const;

  std::vector<WaitingRequest> slots_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> index_;  // slot or kNoSlot; a power of two long
  size_t used_ = 0;
};

}  // namespace stint::batching
