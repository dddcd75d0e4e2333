// What the keeper does when the device runs full, whatever the books say; and what it says of memory that leaks.
#include <fmt/format.h>
#include <malloc.h>

#include "serve/memory_keeper.h"
#include "serve/steady.h"

namespace stint::serve {

using batching::ModelId;
using batching::PressureModel;
using batching::ReliefStep;

namespace {

/// Weights have nowhere to go: where models run on the processor its memory is the device's.
batching::PressureOptions pressure_of(const MemoryUse& device) { return {.device = device.limit, .host_room = {}}; }

Bytes percent_of(Bytes all, int64_t percent) { return Bytes::of(all.count() / 100 * percent); }

}  // namespace

void MemoryKeeper::watch(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const std::optional<MemoryUse> seen = watch_.read();
  lock.lock();
  const Instant now = steady_now();
  next_look_ = now + watch_.every;
  device_ = seen;
  if (!seen) {
    refusing_ = false;
    return;
  }
  if (const auto leak = leaks_.observe(now, seen->own, budget_.used())) {
    leaked_ = leaked_ + leak->grown;
    watch_.tell(fmt::format("memory leaks: {} MiB more than models account for, growing for {:.0f} minutes",
                            leak->grown.count() >> 20, (now - leak->since).to_seconds() / 60));
  }
  const std::vector<ReliefStep> steps = plan(now);
  const bool refusing = !steps.empty() && steps.back().kind == ReliefStep::Kind::kShed;
  for (const ReliefStep& step : steps)
    if (step.kind != ReliefStep::Kind::kShed || !refusing_) take(lock, step);
  if (refusing_ && !refusing) watch_.tell("memory has room again: requests are taken");
  refusing_ = refusing;
  if (!steps.empty()) malloc_trim(0);
  const auto low = percent_of(seen->limit, pressure_of(*seen).low_percent);
  if (!steps.empty() || seen->used > low)
    calm_since_ = now;
  else if (now - calm_since_ >= watch_.calm)
    grow_back(lock);
}

std::vector<ReliefStep> MemoryKeeper::plan(Instant now) const {
  std::vector<PressureModel> models;
  for (uint32_t m = 0; m < known_.size(); ++m) {
    const Known& known = known_[m];
    if (!known.ready) continue;
    PressureModel& row = models.emplace_back(budget_.pressure(ModelId(m), now));
    row.max_batch = known.most_items.value_or(row.max_batch);
    if (!known.small) row.small_variant = known.small_weights;
  }
  return batching::plan_relief(pressure_of(*device_), device_->used, models);
}

void MemoryKeeper::take(std::unique_lock<std::mutex>& lock, const ReliefStep& step) {
  using Kind = ReliefStep::Kind;
  std::shared_ptr<Resident> model;
  if (step.kind != Kind::kShed) {
    Known& known = known_[step.model.index()];
    model = known.ready ? known.model.lock() : nullptr;
    if (!model) return;  // gone while another step was taken
    if (step.kind == Kind::kShrinkBatch) known.most_items = step.max_batch;
  }
  ++relief_steps_[static_cast<size_t>(step.kind)];
  watch_.tell(fmt::format("memory is {} % full: {}", device_->used.count() * 100 / device_->limit.count(),
                          batching::describe(step, model ? model->name() : "")));
  const Bytes before = budget_.used();
  switch (step.kind) {
    case Kind::kShrinkBatch:
    case Kind::kTrimArena:
      budget_.trim(step.model);
      booked_since(before);
      lock.unlock();
      model->trim();
      lock.lock();
      break;
    case Kind::kSmallVariant: reopen(lock, step.model, *model, true); break;
    case Kind::kUnload: unload(lock, step.model, *model); break;
    case Kind::kToHost:
    case Kind::kShed: break;
  }
  release(lock, model);
}

void MemoryKeeper::unload(std::unique_lock<std::mutex>& lock, ModelId id, Resident& model) {
  if (budget_.in_flight(id) > 0) return;  // since the plan was made
  const Bytes before = budget_.used();
  known_[id.index()].ready = false;
  budget_.unload(id);
  booked_since(before);
  lock.unlock();
  model.unload();
  lock.lock();
}

/// Another variant in its place; requests that come meanwhile wait for it.
void MemoryKeeper::reopen(std::unique_lock<std::mutex>& lock, ModelId id, Resident& model, bool small) {
  unload(lock, id, model);
  Known& known = known_[id.index()];
  if (known.ready) return;
  known.small = small;
  known.needed = true;
  budget_.expect(id, small ? *known.small_weights : known.weights);
  lock.unlock();
  model.choose_variant(small);
  lock.lock();
}

/// Batches to twice what they were; and the variant that answers best.
void MemoryKeeper::grow_back(std::unique_lock<std::mutex>& lock) {
  calm_since_ = steady_now();
  const Bytes low = percent_of(device_->limit, pressure_of(*device_).low_percent);
  for (uint32_t m = 0; m < known_.size(); ++m) {
    std::shared_ptr<Resident> model = known_[m].ready ? known_[m].model.lock() : nullptr;
    if (!model) continue;
    if (std::optional<int64_t>& most = known_[m].most_items) {
      *most *= 2;
      watch_.tell(fmt::format("memory has room again: model {}: batches of at most {}", model->name(), *most));
      if (*most >= budget_.pressure(ModelId(m), calm_since_).max_batch) most.reset();
    } else if (known_[m].small && device_->used + known_[m].weights <= low) {
      watch_.tell(fmt::format("memory has room again: model {}: as it was", model->name()));
      reopen(lock, ModelId(m), *model, false);
    }
    release(lock, model);
  }
}

void MemoryKeeper::booked_since(Bytes before) {
  if (device_) device_->used = device_->used + budget_.used() - before;
}

bool MemoryKeeper::device_full_for(ModelId id, const batching::LoadPlan& plan) const {
  if (!device_) return false;
  Bytes after = device_->used + budget_.least(id);
  for (const ModelId gone : plan.evict)
    after = after - budget_.held(gone);
  return after > percent_of(device_->limit, pressure_of(*device_).high_percent);
}

}  // namespace stint::serve
