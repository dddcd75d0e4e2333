// How threads that act at certain times wait for the next of them.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace stint {

/// For std::condition_variable; what is past is waited for no longer.
inline std::chrono::nanoseconds chrono_of(Duration d) { return std::chrono::nanoseconds(std::max<int64_t>(d.count_ns(), 0)); }

}  // namespace stint
