// The thread that calls back at an instant.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/time.h"

namespace stint::serve {

/// Calls back once an instant has come, on its own thread. Any thread may ask.
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
