#include "serve/wake_timer.h"

#include "serve/steady.h"

namespace stint::serve {

WakeTimer::WakeTimer() : thread_([this] { work(); }) {}

WakeTimer::~WakeTimer() { stop(); }

void WakeTimer::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void WakeTimer::wake(Instant at, std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  const auto placed = calls_.emplace(at, std::move(call));
  if (placed == calls_.begin()) changed_.notify_one();
}

void WakeTimer::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (calls_.empty()) {
      changed_.wait(lock);
    } else if (const Instant next = calls_.begin()->first; next > steady_now()) {
      changed_.wait_until(lock, chrono_of(next));
    } else {
      const auto due = calls_.extract(calls_.begin());
      lock.unlock();
      due.mapped()();
      lock.lock();
    }
  }
}

}  // namespace stint::serve
