#include "serve/worker_pool.h"

#include "serve/steady.h"

namespace stint::serve {

WorkerPool::WorkerPool(int threads) {
  for (int i = 0; i < threads; ++i)
    threads_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

void WorkerPool::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void WorkerPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // what it holds may be the last of its kind, and end here
    lock.lock();
  }
}

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
