// Threads that run what is submitted to them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace stint {

/// Runs jobs in the order in which they come. Any thread may submit.
class WorkerPool {
 public:
  /// @param threads  ≥ 1.
  explicit WorkerPool(int threads);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  /// Runs what was submitted, also by what it runs meanwhile, then ends.
  ~WorkerPool();
  void submit(std::function<void()> job);

 private:
  void work();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace stint
