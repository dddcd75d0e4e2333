#include "serve/memory_keeper.h"

#include <malloc.h>

#include "serve/steady.h"

namespace stint::serve {

using batching::kNoDeadline;
using batching::LoadPlan;
using batching::ModelId;

Result<std::unique_ptr<MemoryKeeper>> MemoryKeeper::create(batching::MemoryOptions options, WatchOptions watch) {
  TRY_ASSIGN(batching::MemoryBudget budget, batching::MemoryBudget::create(options, {}));
  return std::unique_ptr<MemoryKeeper>(new MemoryKeeper(options, std::move(watch), std::move(budget)));
}

MemoryKeeper::MemoryKeeper(batching::MemoryOptions options, WatchOptions watch, batching::MemoryBudget budget)
    : room_(options.room),
      watch_(std::move(watch)),
      budget_(std::move(budget)),
      leaks_(watch_.leaks),
      next_look_(watch_.read ? steady_now() : kNoDeadline),
      calm_since_(steady_now()),
      thread_([this] { work(); }) {}

MemoryKeeper::~MemoryKeeper() { stop(); }

void MemoryKeeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  needs_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<ModelId> MemoryKeeper::add(batching::ModelMemory facts, std::weak_ptr<Resident> model, const StandIns& stand_ins) {
  const std::lock_guard lock(mutex_);
  const Bytes weights = facts.weights;
  TRY_ASSIGN(const ModelId id, budget_.add(std::move(facts)));
  if (id.index() == known_.size()) known_.emplace_back();
  known_[id.index()] = {.model = std::move(model), .weights = weights, .stand_ins = stand_ins};
  return id;
}

void MemoryKeeper::remove(ModelId model) {
  {
    const std::lock_guard lock(mutex_);
    const Known& gone = known_[model.index()];
    if (gone.variant == Variant::kHost) on_host_ = on_host_ - *gone.stand_ins.host;
    known_[model.index()] = {};
    budget_.remove(model);
    changed_ = true;
  }
  needs_.notify_one();
}

void MemoryKeeper::want(ModelId model, Instant now) {
  const std::lock_guard lock(mutex_);
  budget_.want(model, now);
}

void MemoryKeeper::need(ModelId model) {
  {
    const std::lock_guard lock(mutex_);
    known_[model.index()].needed = true;
    changed_ = true;
  }
  needs_.notify_one();
}

std::optional<int64_t> MemoryKeeper::begin(ModelId model, int64_t items) {
  std::unique_lock lock(mutex_);
  for (;;) {
    Known& known = known_[model.index()];
    if (!known.ready) return std::nullopt;
    const int64_t asked = std::min(items, known.most_items.value_or(items));
    if (known.variant == Variant::kHost) {
      ++known.running_on_host;
      return asked;
    }
    if (const int64_t granted = budget_.begin_batch(model, asked); granted > 0) return granted;
    freed_.wait(lock);
  }
}

void MemoryKeeper::end(ModelId model, int64_t items) {
  {
    const std::lock_guard lock(mutex_);
    if (Known& known = known_[model.index()]; known.variant == Variant::kHost)
      --known.running_on_host;
    else
      budget_.end_batch(model, items);
    if (blocked_) {
      changed_ = true;
      needs_.notify_one();
    }
  }
  freed_.notify_all();
}

MemoryKeeper::Figures MemoryKeeper::figures() const {
  const std::lock_guard lock(mutex_);
  return {room_, budget_.used(), budget_.loaded(), loads_, evictions_, device_, relief_steps_, leaked_, on_host_};
}

std::optional<Variant> MemoryKeeper::loaded(ModelId model) const {
  const std::lock_guard lock(mutex_);
  const Known& known = known_[model.index()];
  return known.ready ? std::optional(known.variant) : std::nullopt;
}

void MemoryKeeper::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    changed_ = false;
    if (steady_now() >= next_look_) watch(lock);
    const Instant again = std::min(serve_needs(lock), next_look_);
    const auto go_on = [this] { return ending_ || changed_; };
    if (again == kNoDeadline)
      needs_.wait(lock, go_on);
    else
      needs_.wait_until(lock, chrono_of(again), go_on);
  }
}

Instant MemoryKeeper::serve_needs(std::unique_lock<std::mutex>& lock) {
  Instant again = kNoDeadline;
  blocked_ = false;
  for (uint32_t m = 0; m < known_.size() && !ending_; ++m) {
    if (!known_[m].needed) continue;
    const ModelId id(m);
    if (known_[m].variant == Variant::kHost) {
      load_on_host(lock, id);
      continue;
    }
    const std::optional<LoadPlan> plan = plan_load(id, steady_now());
    if (!plan) {
      settle(lock, id, make_error(ErrorCode::kUnavailable, "the device's memory is full"));
      continue;
    }
    switch (plan->kind) {
      case LoadPlan::Kind::kResident: settle(lock, id, {}); break;
      case LoadPlan::Kind::kLoad: load(lock, id, *plan); break;
      case LoadPlan::Kind::kGather: again = std::min(again, plan->until); break;
      case LoadPlan::Kind::kBlocked: blocked_ = true; break;
    }
  }
  return again;
}

void MemoryKeeper::load(std::unique_lock<std::mutex>& lock, ModelId id, const LoadPlan& plan) {
  std::shared_ptr<Resident> model = known_[id.index()].model.lock();
  if (!model) {  // about to be removed
    known_[id.index()].needed = false;
    return;
  }
  std::vector<std::shared_ptr<Resident>> evicted;
  for (const ModelId gone : plan.evict) {
    known_[gone.index()].ready = false;
    if (auto other = known_[gone.index()].model.lock()) evicted.push_back(std::move(other));
  }
  const Bytes before = budget_.used();
  budget_.commit_load(id, plan);
  booked_since(before);
  ++loads_;
  evictions_ += std::ssize(plan.evict);
  const Variant variant = known_[id.index()].variant;
  lock.unlock();
  for (const auto& other : evicted)
    other->unload();
  if (!evicted.empty()) malloc_trim(0);  // else the heap keeps what the budget takes for free
  evicted.clear();
  const Status loaded = model->load(variant);
  malloc_trim(0);
  lock.lock();
  const Bytes during = budget_.used();
  if (loaded.ok()) {
    known_[id.index()].ready = true;
    budget_.trim(id);
  } else {
    budget_.unload(id);
  }
  booked_since(during);
  settle(lock, id, loaded);
  release(lock, model);
}

void MemoryKeeper::settle(std::unique_lock<std::mutex>& lock, ModelId id, const Status& status) {
  known_[id.index()].needed = false;
  std::shared_ptr<Resident> model = known_[id.index()].model.lock();
  lock.unlock();
  if (model) model->settled(status);
  model.reset();
  lock.lock();
}

/// Not under the lock: it may be the last hold on a model, which then comes to remove().
void MemoryKeeper::release(std::unique_lock<std::mutex>& lock, std::shared_ptr<Resident>& model) {
  lock.unlock();
  model.reset();
  lock.lock();
}

}  // namespace stint::serve
