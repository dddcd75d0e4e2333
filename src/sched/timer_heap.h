// What is to happen at a time, the earliest on top. A timer is never taken out when it loses its meaning (its job ended or
// began anew); those are swept out together when they may be half of the heap, so that it stays as small as what is alive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sched/ids.h"

namespace stint::sched {

enum class TimerKind : uint8_t { kBegin, kLimit, kLevel, kBroken };
struct Timer {
  Instant at;
  JobId job;
  TimerKind kind = TimerKind::kBegin;
  uint32_t starts = 0;  ///< of the job when it was set; another number now = it means nothing any more
  /// Heap order: the earliest on top, of those the smallest job.
  bool operator<(const Timer& o) const { return at != o.at ? at > o.at : job != o.job ? job > o.job : kind > o.kind; }
};

class TimerHeap {
 public:
  /// @param is_alive  says of a timer whether it still means something; asked O(1) times per timer set.
  template <typename IsAlive>
  void set(const Timer& timer, IsAlive&& is_alive) {
    if (heap_.size() >= sweep_at_) {
      std::erase_if(heap_, [&](const Timer& t) { return !is_alive(t); });
      std::make_heap(heap_.begin(), heap_.end());
      sweep_at_ = std::max(kSmall, 2 * heap_.size());
    }
    heap_.push_back(timer);
    std::push_heap(heap_.begin(), heap_.end());
  }
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Timer& top() const { return heap_.front(); }
  Timer pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    const Timer timer = heap_.back();
    heap_.pop_back();
    return timer;
  }

 private:
  friend struct SnapshotParts;
  friend struct ForgetParts;
  static constexpr size_t kSmall = 1024;
  std::vector<Timer> heap_;
  size_t sweep_at_ = kSmall;
};

}  // namespace stint::sched
