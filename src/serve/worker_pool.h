// The threads that run batches, and the one that calls back at an instant.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"

namespace stint::serve {

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

/// Calls back once an instant has come, on a thread of its own. Any thread may ask.
class WakeTimer {
 public:
  WakeTimer();
  WakeTimer(const WakeTimer&) = delete;
  WakeTimer& operator=(const WakeTimer&) = delete;
  ~WakeTimer();
  /// What has not come yet never will, nor what is asked for later.
  void stop();
  /// @param at  of the steady clock. @param call  short.
  void wake(Instant at, std::function<void()> call);

 private:
  void work();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Instant, std::function<void()>> calls_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace stint::serve
