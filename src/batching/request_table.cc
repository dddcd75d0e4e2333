#include "batching/request_table.h"

#include <bit>

#include "base/check.h"

namespace stint::batching {

RequestTable::RequestTable(size_t slots) : slots_(slots), index_(std::bit_ceil(2 * slots), kNoSlot) {
  free_.reserve(slots);
  for (size_t i = slots; i-- > 0;)
    free_.push_back(static_cast<uint32_t>(i));
}

size_t RequestTable::home(RequestId id) const {
  // Fibonacci hashing: ids counted up spread over the table.
  const uint64_t mixed = static_cast<uint64_t>(id) * 0x9e3779b97f4a7c15ULL;
  return static_cast<size_t>((mixed ^ (mixed >> 32)) & (index_.size() - 1));
}

uint32_t RequestTable::find(RequestId id) const {
  for (size_t at = home(id); index_[at] != kNoSlot; at = (at + 1) & (index_.size() - 1))
    if (slots_[index_[at]].request.id == id) return index_[at];
  return kNoSlot;
}

uint32_t RequestTable::add(const Request& request, uint32_t bucket, Instant since) {
  CHECK(!free_.empty(), "all {} slots are taken", slots_.size());
  const uint32_t slot = free_.back();
  free_.pop_back();
  slots_[slot] = {request, bucket, since};
  size_t at = home(request.id);
  while (index_[at] != kNoSlot)
    at = (at + 1) & (index_.size() - 1);
  index_[at] = slot;
  ++used_;
  return slot;
}

void RequestTable::remove(uint32_t slot) {
  const size_t mask = index_.size() - 1;
  size_t hole = home(slots_[slot].request.id);
  while (index_[hole] != slot) {
    CHECK(index_[hole] != kNoSlot, "slot {} holds nothing", slot);
    hole = (hole + 1) & mask;
  }
  // Whoever probed past the hole moves into it, so that no search ends too early.
  for (size_t at = (hole + 1) & mask; index_[at] != kNoSlot; at = (at + 1) & mask) {
    const size_t wanted = home(slots_[index_[at]].request.id);
    if (((at - wanted) & mask) < ((at - hole) & mask)) continue;
    index_[hole] = index_[at];
    hole = at;
  }
  index_[hole] = kNoSlot;
  free_.push_back(slot);
  --used_;
}

}  // namespace stint::batching
