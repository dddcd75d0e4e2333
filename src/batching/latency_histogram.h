// Times counted in buckets that are narrow where times are short: quantiles within 1 % from a nanosecond to hours, in 60 KiB, mergeable.
//
// Source: Gil Tene's HdrHistogram: powers of two, each in as many equal parts (here 128).
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace stint::batching {

class LatencyHistogram {
 public:
  LatencyHistogram();
  /// @param time  below 0 counts as 0.
  void add(Duration time);
  void merge(const LatencyHistogram& other);

  [[nodiscard]] int64_t count() const { return count_; }
  /// The shortest time that at least this part of all are within, rounded up by less than 1 %; 0 when there is none.
  /// @param q  0 … 1.
  [[nodiscard]] Duration quantile(double q) const;
  [[nodiscard]] Duration longest() const { return longest_; }
  [[nodiscard]] Duration mean() const;

 private:
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
  double sum_ns_ = 0;
  Duration longest_;
};

}  // namespace stint::batching
