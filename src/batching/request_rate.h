// How often a model is asked for: a count that halves every half-life, in whole numbers.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace stint::batching {

class RequestRate {
 public:
  /// Parts of a request: what one counts when it comes.
  static constexpr int64_t kOne = 1 << 20;
  void add(Instant now, Duration half_life, int64_t requests = 1);
  /// Requests × kOne of about the last half-life ÷ ln 2, as of `now`.
  [[nodiscard]] int64_t at(Instant now, Duration half_life) const;

 private:
  int64_t count_ = 0;
  int64_t tick_ = 0;  // 64ths of a half-life since 1970, to which count_ is decayed
};

}  // namespace stint::batching
