#include "backends/capacity/capacity_workers.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <utility>

namespace stint {
namespace {

constexpr size_t kOrderThreads = 8;  // requests at the same time
constexpr Duration kLongestPause = Duration::seconds(10);

}  // namespace

void add_heard(CapacityHeard& all, CapacityHeard&& more) {
  std::ranges::move(more.answers, std::back_inserter(all.answers));
  std::ranges::move(more.lists, std::back_inserter(all.lists));
  std::ranges::move(more.offers, std::back_inserter(all.offers));
  std::ranges::move(more.notices, std::back_inserter(all.notices));
}

bool has_heard(const CapacityHeard& heard) {
  return !heard.answers.empty() || !heard.lists.empty() || !heard.offers.empty() || !heard.notices.empty();
}

CapacityWorkers::CapacityWorkers(std::function<void()> heard) : heard_(std::move(heard)) {
  for (size_t i = 0; i < kOrderThreads; ++i)
    threads_.emplace_back([this] { work(); });
}

CapacityWorkers::~CapacityWorkers() {
  {
    const std::lock_guard guard(lock_);
    stopping_ = true;
    todo_.clear();
  }
  work_there_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

void CapacityWorkers::begin(std::function<CapacityHeard()> work) {
  {
    const std::lock_guard guard(lock_);
    todo_.push_back(std::move(work));
    ++under_way_;
  }
  work_there_.notify_all();
}

void CapacityWorkers::work() {
  std::unique_lock lock(lock_);
  for (;;) {
    work_there_.wait(lock, [this] { return stopping_ || !todo_.empty(); });
    if (stopping_) return;
    const std::function<CapacityHeard()> next = std::move(todo_.front());
    todo_.pop_front();
    lock.unlock();
    CapacityHeard heard = next();
    lock.lock();
    add_heard(answers_, std::move(heard));
    --under_way_;
    news_.notify_all();
    lock.unlock();
    if (heard_) heard_();
    lock.lock();
  }
}

void CapacityWorkers::begin_each(const CreateOrder& order,
                                 std::function<CapacityAnswer(const CreateOrder& order, const std::string& machine_name)> make) {
  const auto shared = std::make_shared<const CreateOrder>(order);
  for (const std::string& machine_name : order.names)
    begin([shared, machine_name, make] {
      CapacityHeard heard;
      heard.answers.push_back(make(*shared, machine_name));
      return heard;
    });
}

CapacityHeard CapacityWorkers::hear() {
  const std::lock_guard guard(lock_);
  return std::exchange(answers_, {});
}

void CapacityWorkers::wait() {
  std::unique_lock lock(lock_);
  news_.wait(lock, [this] { return under_way_ == 0 || has_heard(answers_); });
}

bool CapacityWorkers::stopping() {
  const std::lock_guard guard(lock_);
  return stopping_;
}

void CapacityWorkers::pause(Duration time) {
  std::unique_lock lock(lock_);
  work_there_.wait_for(lock, std::chrono::nanoseconds(std::min(time, kLongestPause).count_ns()), [this] { return stopping_; });
}

}  // namespace stint
