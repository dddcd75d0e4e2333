// A queue of things that will happen, ordered by time, then kind, then sequence of insertion.
//
// The order of simultaneous events is part of the contract: it makes a simulation a function of its input. A binary heap
// in one array: nothing is allocated per event once the array has grown to the largest number of events pending at once.
// What is no longer to happen is not searched for; the payload carries a generation that its owner compares.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace stint::sim {

/// @tparam Payload  cheap to copy; its meaning is the owner's.
template <typename Payload>
class EventQueue {
 public:
  struct Entry {
    Instant at;
    uint8_t kind = 0;  ///< smaller happens first at the same instant
    uint64_t sequence = 0;
    Payload payload;
  };

  void push(Instant at, uint8_t kind, const Payload& payload) {
    CHECK(at >= last_popped_, "an event at {} ns, before the last at {} ns", at.ns(), last_popped_.ns());
    heap_.push_back({at, kind, next_sequence_++, payload});
    std::ranges::push_heap(heap_, later);
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] size_t size() const { return heap_.size(); }
  /// The next to happen. The queue must not be empty.
  [[nodiscard]] const Entry& top() const {
    CHECK(!heap_.empty(), "top() of no events");
    return heap_.front();
  }
  Entry pop() {
    CHECK(!heap_.empty(), "pop() of no events");
    std::ranges::pop_heap(heap_, later);
    Entry entry = heap_.back();
    heap_.pop_back();
    last_popped_ = entry.at;
    return entry;
  }

 private:
  static bool later(const Entry& a, const Entry& b) {
    if (a.at != b.at) return a.at > b.at;
    if (a.kind != b.kind) return a.kind > b.kind;
    return a.sequence > b.sequence;
  }
  std::vector<Entry> heap_;
  uint64_t next_sequence_ = 0;
  Instant last_popped_ = Instant::from_ns(INT64_MIN);
};

}  // namespace stint::sim
