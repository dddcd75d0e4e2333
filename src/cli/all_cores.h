// Independent tasks on all cores: replays know nothing of each other.
#pragma once

#include <cstddef>
#include <functional>

namespace stint {

/// Calls task(0) … task(count − 1), each once, in any order; comes back when all are done. The caller works too.
/// @param threads  at most so many at a time; 0 = as many as there are cores.
void run_on_all_cores(size_t count, const std::function<void(size_t)>& task, size_t threads = 0);

}  // namespace stint
