// The last so many minutes of one metric: a sum and a count for each. Every rule that looks at the metric looks into the same
// window. A minute without samples has none: missing is not zero.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"

namespace stint {

class MinuteWindow {
 public:
  /// @param minutes  how far back it remembers; > 0.
  explicit MinuteWindow(size_t minutes);

  /// Samples may come out of order; those older than the window are not kept.
  void add(Instant at, double value);

  struct Mean {
    double value = 0;
    double coverage = 0;  ///< part of the minutes that had samples
  };
  /// Of the minutes that have begun in [until − length, until), each counting alike. @return none without any sample.
  [[nodiscard]] std::optional<Mean> mean(Instant until, Duration length) const;
  /// Nearest rank over the means of those minutes; 0 < q ≤ 1.
  [[nodiscard]] std::optional<double> quantile(Instant until, Duration length, double q) const;
  /// Least-squares line through those minutes: by how much it rises over `length`. @return none with fewer than two.
  [[nodiscard]] std::optional<double> rise(Instant until, Duration length) const;

 private:
  struct Minute {
    double sum = 0;
    uint32_t count = 0;
  };
  /// Calls visit(minute, mean) for those with samples, oldest first. @return how many minutes there are in all.
  template <typename Visit>
  int64_t for_each(Instant until, Duration length, Visit&& visit) const;

  std::vector<Minute> ring_;    // by minute modulo its size
  int64_t newest_ = INT64_MIN;  // minute since 1970; minutes after newest_ − size are in the ring
};

}  // namespace stint
