// Whether batches still take as long as was measured: a neighbour on the device, a slower clock or other inputs change that.
//
// A size's recent batches are compared with what the profile says of them; when their median is away from it by kDrift, the profile
// follows: every size by what was seen of it, one that was not seen by the nearest that was.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "batching/latency_profile.h"

namespace stint::batching {

class LatencyWatch {
 public:
  static constexpr double kDrift = 1.25;  ///< times as long, or as short
  static constexpr size_t kSeen = 64;     ///< batches of a size that are looked at together

  explicit LatencyWatch(LatencyProfile measured);

  /// @param items  1 … the profile's largest. @param took  > 0.
  void add(int64_t items, Duration took);
  /// Batches take as long as this says, as far as was seen.
  [[nodiscard]] const LatencyProfile& profile() const { return profile_; }
  /// Times as long as was measured at first, of the sizes seen last; 1 before any drift.
  [[nodiscard]] double ratio() const { return ratio_; }
  /// Takes what was seen over when it has drifted. @return whether it had
  bool follow();

 private:
  struct Size {
    int64_t batch = 0;
    std::vector<double> ratios;  ///< times as long as the profile's median; a ring once full
    size_t next = 0;
  };
  LatencyProfile profile_;
  std::vector<Size> sizes_;  // as the profile's
  double ratio_ = 1;
};

}  // namespace stint::batching
