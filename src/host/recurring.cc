#include "host/recurring.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace stint {

struct Recurring::Impl {
  using Clock = std::chrono::steady_clock;
  struct Item {
    Work work;
    Clock::time_point due;
    bool busy = false;
  };

  void run() {
    std::unique_lock lock(mutex);
    while (!stopping) {
      Item* next = nullptr;
      for (Item& item : items)
        if (!item.busy && (next == nullptr || item.due < next->due)) next = &item;
      if (next == nullptr) {
        wake.wait(lock);
        continue;
      }
      if (next->due > Clock::now()) {
        wake.wait_until(lock, next->due);
        continue;
      }
      next->busy = true;
      const Clock::time_point began = Clock::now();
      lock.unlock();
      const Duration pause = next->work();
      lock.lock();
      // From its beginning, so that looks keep their distance; never at once again, however long it took.
      next->due = std::max(began + std::chrono::nanoseconds(pause.count_ns()), Clock::now() + std::chrono::milliseconds(1));
      next->busy = false;
      wake.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Item> items;  // the list is fixed; `due` and `busy` are guarded
  bool stopping = false;    // guarded
  std::vector<std::jthread> threads;
};

Recurring::Recurring(std::vector<Work> works, size_t threads) : impl_(std::make_unique<Impl>()) {
  for (Work& work : works)
    impl_->items.push_back({.work = std::move(work), .due = Impl::Clock::now()});
  for (size_t i = 0; i < std::max<size_t>(threads, 1); ++i)
    impl_->threads.emplace_back([impl = impl_.get()] { impl->run(); });
}

Recurring::~Recurring() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  impl_->threads.clear();
}

}  // namespace stint
