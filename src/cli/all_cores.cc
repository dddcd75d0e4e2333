#include "cli/all_cores.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace stint {

void run_on_all_cores(size_t count, const std::function<void(size_t)>& task, size_t threads) {
  if (threads == 0) threads = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++)
      task(i);
  };
  std::vector<std::jthread> others;
  for (size_t t = 1; t < std::min(threads, count); ++t)
    others.emplace_back(work);
  work();
}

}  // namespace stint
