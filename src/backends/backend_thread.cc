#include "backends/backend_thread.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace stint {

BackendThread::BackendThread(std::unique_ptr<Backend> backend, Instant now)
    : backend_(std::move(backend)), notes_(backend_->notes()) {
  look(now);
  shown_ = seen_;
  thread_ = std::jthread([this] { run(); });
}

BackendThread::~BackendThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void BackendThread::submit(std::vector<Order> orders) {
  if (orders.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    std::ranges::move(orders, std::back_inserter(orders_));
  }
  wake_.notify_all();
}

std::vector<BackendEvent> BackendThread::drain(Instant now) {
  std::vector<BackendEvent> events;
  {
    const std::lock_guard lock(mutex_);
    events.swap(events_);
    shown_ = seen_;
    asked_ = now;
  }
  drained_at_ = now;
  wake_.notify_all();
  return events;
}

/// While the thread is busy, what it foresaw before it began says nothing: a caller that took it at its word would ask without a pause.
std::optional<Instant> BackendThread::next_event_at() const {
  constexpr Duration kBusyFor = Duration::milliseconds(50);
  const std::lock_guard lock(mutex_);
  return busy_ ? std::max(shown_.next.value_or(Instant()), drained_at_ + kBusyFor) : shown_.next;
}

void BackendThread::on_events(std::function<void()> listener) {
  const std::lock_guard lock(listening_);
  listener_ = std::move(listener);
}

BackendThread::Seen BackendThread::see() const {
  return {.ready = backend_->is_ready(),
          .running = backend_->running(),
          .machines = backend_->machines(),
          .next = backend_->next_event_at()};
}

void BackendThread::look(Instant now) {
  std::vector<BackendEvent> events = backend_->drain(now);
  Seen seen = see();
  bool is_news = !events.empty();
  {
    const std::lock_guard lock(mutex_);
    std::ranges::move(events, std::back_inserter(events_));
    is_news |= seen.ready != seen_.ready;
    seen_ = std::move(seen);
  }
  if (!is_news) return;
  const std::lock_guard lock(listening_);
  if (listener_) listener_();
}

void BackendThread::run() {
  Instant now;
  for (;;) {
    std::vector<Order> orders;
    bool last = false;
    {
      std::unique_lock lock(mutex_);
      busy_ = false;
      wake_.wait(lock, [this] { return stopping_ || asked_ || !orders_.empty(); });
      orders.swap(orders_);
      if (asked_) now = std::max(now, *std::exchange(asked_, std::nullopt));
      last = stopping_;
      busy_ = true;
    }
    for (const Order& order : orders)
      now = std::max(now, order.at);
    if (!orders.empty()) backend_->submit(std::move(orders));
    if (last) return;
    look(now);
  }
}

}  // namespace stint
