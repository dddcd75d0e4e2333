// Who slows whom on a shared GPU, as it was measured: kinds of work by number, and what each request for a part of a GPU bears.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sched/request.h"

namespace stint::sched {

/// What is known of a request once and for all.
struct InterferenceFacts {
  int32_t work = -1;                                  ///< kind by number; −1 = none that has one
  int32_t most = -1;                                  ///< percent that it bears; −1 = any
  std::vector<std::pair<int32_t, int32_t>> measured;  ///< kind → percent that it is slowed beside one; ascending
  /// By one neighbour of that kind. Of pairs that were not measured: nearly all that were are slowed by less.
  [[nodiscard]] int64_t percent_beside(int32_t kind) const;
};

class InterferenceBook {
 public:
  InterferenceFacts facts_of(const Request& request);
  /// Has any request said what it bears? While none has, nothing needs to be looked at.
  [[nodiscard]] bool any_bounds() const { return any_bounds_; }

 private:
  friend struct SnapshotParts;
  int32_t number_of(const std::string& kind);

  std::vector<std::string> kinds_;
  bool any_bounds_ = false;
};

}  // namespace stint::sched
