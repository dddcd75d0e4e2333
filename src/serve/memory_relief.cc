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

Bytes percent_of(Bytes all, int64_t percent) { return Bytes::of(all.count() / 100 * percent); }

}  // namespace

batching::PressureOptions MemoryKeeper::pressure() const {
  return {.device = device_->limit, .host_room = watch_.host_room - on_host_};
}

void MemoryKeeper::watch(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const std::optional<MemoryUse> seen = watch_.read();
  const Bytes beside = watch_.beside ? watch_.beside() : Bytes();
  lock.lock();
  const Instant now = steady_now();
  next_look_ = now + watch_.every;
  device_ = seen;
  if (!seen) {
    refusing_ = false;
    return;
  }
  if (const auto leak = leaks_.observe(now, seen->own, budget_.used() + beside)) {
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
  const auto low = percent_of(seen->limit, pressure().low_percent);
  if (!steps.empty() || seen->used > low)
    calm_since_ = now;
  else if (now - calm_since_ >= watch_.calm)
    grow_back(lock);
}

std::vector<ReliefStep> MemoryKeeper::plan(Instant now) const {
  std::vector<PressureModel> models;
  for (uint32_t m = 0; m < known_.size(); ++m) {
    const Known& known = known_[m];
    if (!known.ready || known.variant == Variant::kHost) continue;
    PressureModel& row = models.emplace_back(budget_.pressure(ModelId(m), now));
    row.max_batch = known.most_items.value_or(row.max_batch);
    if (known.variant == Variant::kWhole) row.small_variant = known.stand_ins.small;
    row.host = known.stand_ins.host;
  }
  return batching::plan_relief(pressure(), device_->used, models);
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
    case Kind::kSmallVariant: reopen(lock, step.model, *model, Variant::kSmall); break;
    case Kind::kToHost: reopen(lock, step.model, *model, Variant::kHost); break;
    case Kind::kUnload: unload(lock, step.model, *model); break;
    case Kind::kShed: break;
  }
  release(lock, model);
}

void MemoryKeeper::unload(std::unique_lock<std::mutex>& lock, ModelId id, Resident& model) {
  if (in_flight(id) > 0) return;  // since the plan was made
  Known& known = known_[id.index()];
  known.ready = false;
  if (known.variant == Variant::kHost) {
    on_host_ = on_host_ - *known.stand_ins.host;
    known.variant = Variant::kWhole;
  } else {
    const Bytes before = budget_.used();
    budget_.unload(id);
    booked_since(before);
  }
  lock.unlock();
  model.unload();
  malloc_trim(0);
  lock.lock();
}

/// Another variant in its place; requests that come meanwhile wait for it.
void MemoryKeeper::reopen(std::unique_lock<std::mutex>& lock, ModelId id, Resident& model, Variant variant) {
  unload(lock, id, model);
  Known& known = known_[id.index()];
  if (known.ready) return;
  known.variant = variant;
  known.needed = true;
  if (variant == Variant::kHost) on_host_ = on_host_ + *known.stand_ins.host;
  budget_.expect(id, variant == Variant::kSmall ? *known.stand_ins.small : known.weights);
}

int64_t MemoryKeeper::in_flight(ModelId id) const {
  const Known& known = known_[id.index()];
  return known.variant == Variant::kHost ? known.running_on_host : budget_.in_flight(id);
}

/// One that cannot run there after all is as good as unloaded: the next request loads it onto the device, if there is room.
void MemoryKeeper::load_on_host(std::unique_lock<std::mutex>& lock, ModelId id) {
  std::shared_ptr<Resident> model = known_[id.index()].model.lock();
  if (!model || known_[id.index()].ready) return settle(lock, id, {});
  lock.unlock();
  const Status loaded = model->load(Variant::kHost);
  lock.lock();
  Known& known = known_[id.index()];
  known.ready = loaded.ok();
  if (!loaded.ok()) {
    on_host_ = on_host_ - *known.stand_ins.host;
    known.variant = Variant::kWhole;
    watch_.tell(fmt::format("model {} does not run on the host: {}", model->name(), loaded.error().message));
  }
  settle(lock, id, loaded);
  release(lock, model);
}

/// Batches to twice what they were; and the variant that answers best.
void MemoryKeeper::grow_back(std::unique_lock<std::mutex>& lock) {
  calm_since_ = steady_now();
  for (uint32_t m = 0; m < known_.size(); ++m) {
    std::shared_ptr<Resident> model = known_[m].ready ? known_[m].model.lock() : nullptr;
    if (!model) continue;
    if (std::optional<int64_t>& most = known_[m].most_items) {
      *most *= 2;
      watch_.tell(fmt::format("memory has room again: model {}: batches of at most {}", model->name(), *most));
      if (*most >= budget_.pressure(ModelId(m), calm_since_).max_batch) most.reset();
    } else if (known_[m].variant != Variant::kWhole && whole_fits(ModelId(m))) {
      watch_.tell(fmt::format("memory has room again: model {}: as it was", model->name()));
      reopen(lock, ModelId(m), *model, Variant::kWhole);
    }
    release(lock, model);
  }
}

/// From the host it comes back as any model does that is asked for: others may have to leave.
bool MemoryKeeper::whole_fits(ModelId id) const {
  const Known& known = known_[id.index()];
  const Bytes low = percent_of(device_->limit, pressure().low_percent);
  if (known.variant == Variant::kHost) {
    const batching::LoadPlan plan = budget_.plan_load(id, calm_since_);
    return plan.kind == batching::LoadPlan::Kind::kLoad && used_after(id, plan) <= low;
  }
  return device_->used + known.weights <= low;
}

void MemoryKeeper::booked_since(Bytes before) {
  if (device_) device_->used = device_->used + budget_.used() - before;
}

Bytes MemoryKeeper::used_after(ModelId id, const batching::LoadPlan& plan) const {
  Bytes after = device_->used + budget_.least(id);
  for (const ModelId gone : plan.evict)
    after = after - budget_.held(gone);
  return after;
}

Bytes MemoryKeeper::device_room() const {
  return device_ ? percent_of(device_->limit, pressure().high_percent) - device_->used : Bytes::of(INT64_MAX);
}

std::optional<batching::LoadPlan> MemoryKeeper::plan_load(ModelId id, Instant now) const {
  batching::LoadPlan plan = budget_.plan_load(id, now, device_room());
  if (plan.kind != batching::LoadPlan::Kind::kBlocked) return plan;
  // A batch that ends may let its model leave; with none, waiting would be for ever.
  for (uint32_t m = 0; m < known_.size(); ++m)
    if (known_[m].ready && known_[m].variant != Variant::kHost && budget_.in_flight(ModelId(m)) > 0) return plan;
  return std::nullopt;
}

}  // namespace stint::serve
