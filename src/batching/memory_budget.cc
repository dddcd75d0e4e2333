#include "batching/memory_budget.h"

#include <algorithm>

namespace stint::batching {
namespace {

/// Of ages, which are no times: so short that those of all requests in many years can be added up.
constexpr Duration kAgeHalfLife = Duration::nanoseconds(int64_t{1} << 22);
/// Requests for each model on the device until counts are halved. Fewer would not tell models apart that are asked for alike; more would
/// keep those that were asked for before.
constexpr int64_t kRequestsEach = 32;

Bytes arena_at_load(const ModelMemory& facts) { return std::max(facts.activation.front(), facts.loading); }
Bytes smallest_load(const ModelMemory& facts) { return facts.weights + arena_at_load(facts); }

}  // namespace

Status check_memory(const MemoryOptions& options, const std::vector<ModelMemory>& models) {
  if (options.room <= Bytes()) return invalid("room for models is {} bytes: it must be positive", options.room.count());
  if (options.half_life <= Duration()) return invalid("the half-life of request counts must be positive");
  if (options.patience && *options.patience < Duration()) return invalid("patience may not be negative");
  Bytes pinned;
  for (size_t m = 0; m < models.size(); ++m) {
    const ModelMemory& model = models[m];
    if (model.weights <= Bytes()) return invalid("model {}: weights of {} bytes: measure them", m, model.weights.count());
    if (model.reload <= Duration()) return invalid("model {}: a load takes {} ns: measure it", m, model.reload.count_ns());
    if (model.activation.empty()) return invalid("model {}: no activation memory measured, not even for a batch of 1", m);
    for (size_t i = 0; i < model.activation.size(); ++i)
      if (model.activation[i] < Bytes() || (i > 0 && model.activation[i] < model.activation[i - 1]))
        return invalid("model {}: activation memory may not fall with the batch: {} bytes at {}", m, model.activation[i].count(),
                       i + 1);
    const Bytes least = smallest_load(model);
    if (least > options.room || least > model.budget)
      return invalid(
          "model {} takes {} bytes while it is loaded or with a batch of 1, more than {} allows ({} bytes): use a smaller "
          "variant or another device",
          m, least.count(), least > options.room ? "the device" : "its budget", std::min(options.room, model.budget).count());
    if (model.pinned) pinned = pinned + least;
    if (pinned > options.room) return invalid("the pinned models up to {} do not fit together: unpin one", m);
  }
  return {};
}

Result<MemoryBudget> MemoryBudget::create(MemoryOptions options, std::vector<ModelMemory> models) {
  TRY(check_memory(options, models));
  return MemoryBudget(options, std::move(models));
}

MemoryBudget::MemoryBudget(MemoryOptions options, std::vector<ModelMemory> models) : options_(options) {
  for (ModelMemory& facts : models)
    states_.push_back({.facts = std::move(facts)});
}

Result<ModelId> MemoryBudget::add(ModelMemory model) {
  std::vector<ModelMemory> with{model};
  for (const State& state : states_)
    if (!state.removed && state.facts.pinned) with.push_back(state.facts);
  TRY(check_memory(options_, with));
  const auto free = std::find_if(states_.begin(), states_.end(), [](const State& state) { return state.removed; });
  State& state = free == states_.end() ? states_.emplace_back() : *free;
  state = {.facts = std::move(model)};
  return ModelId(static_cast<uint32_t>(&state - states_.data()));
}

void MemoryBudget::remove(ModelId model) {
  if (resident(model)) unload(model);
  state_of(model) = {.removed = true};
}

const MemoryBudget::State& MemoryBudget::state_of(ModelId model) const {
  CHECK(model.index() < states_.size(), "model {} of {}", model.index(), states_.size());
  return states_[model.index()];
}
MemoryBudget::State& MemoryBudget::state_of(ModelId model) { return const_cast<State&>(std::as_const(*this).state_of(model)); }

Bytes MemoryBudget::held(ModelId model) const {
  const State& state = state_of(model);
  return state.resident ? state.facts.weights + state.arena : Bytes();
}

Bytes MemoryBudget::least(ModelId model) const { return smallest_load(state_of(model).facts); }

PressureModel MemoryBudget::pressure(ModelId model, Instant now) const {
  const State& state = state_of(model);
  CHECK(state.resident, "model {} is not on the device", model.index());
  // 83 bits at most: the lowest do not matter.
  const auto worth = static_cast<int64_t>(worth_of(state, Bytes(), now).cost >> 24);
  return {.model = model,
          .weights = state.facts.weights,
          .arena = state.arena,
          .running = state.running,
          .activation = state.facts.activation,
          .max_batch = std::ssize(state.facts.activation),
          .in_flight = state.in_flight,
          .pinned = state.facts.pinned,
          .small_variant = {},
          .host = {},
          .worth = worth,
          .last_request = state.last_request};
}

bool MemoryBudget::Worth::less_than(const Worth& other) const {
  // Cross-multiplied; bytes in KiB keep 46 + 37 + 43 bits below 128.
  return cost * static_cast<uint64_t>(other.bytes) < other.cost * static_cast<uint64_t>(bytes);
}

MemoryBudget::Worth MemoryBudget::worth_of(const State& state, Bytes bytes, Instant now) const {
  const auto reload_us = static_cast<uint64_t>(std::max<int64_t>(1, state.facts.reload.count_ns() / 1000));
  const auto rate = static_cast<uint64_t>(state.rate.at(age_at(now), kAgeHalfLife));
  return {Worth::Wide{rate} * reload_us, std::max<int64_t>(1, bytes.count() >> 10)};
}

Instant MemoryBudget::age_at(Instant now) const {
  return Instant::from_ns(now.ns() / std::max<int64_t>(1, options_.half_life.count_ns() / kAgeHalfLife.count_ns())) + aged_;
}

void MemoryBudget::want(ModelId model, Instant now) {
  State& state = state_of(model);
  aged_ = aged_ + Duration::nanoseconds(kAgeHalfLife.count_ns() / (kRequestsEach * std::max<int64_t>(1, present_)));
  state.rate.add(age_at(now), kAgeHalfLife);
  state.last_request = now;
  if (state.resident || state.wanted) return;
  state.wanted = true;
  state.wanted_since = now;
}

std::vector<uint32_t> MemoryBudget::evictable(ModelId but, Instant now) const {
  std::vector<std::pair<Worth, uint32_t>> by_worth;
  for (uint32_t m = 0; m < states_.size(); ++m) {
    const State& state = states_[m];
    if (!state.resident || state.facts.pinned || state.in_flight > 0 || m == but.index()) continue;
    by_worth.emplace_back(worth_of(state, state.facts.weights + state.arena, now), m);
  }
  std::sort(by_worth.begin(), by_worth.end(), [this](const auto& a, const auto& b) {
    if (a.first.less_than(b.first)) return true;
    if (b.first.less_than(a.first)) return false;
    // Not asked for in hours, several are worth nothing: who was asked for last may be the first to be asked for again.
    return std::pair(states_[a.second].last_request, a.second) < std::pair(states_[b.second].last_request, b.second);
  });
  std::vector<uint32_t> order;
  for (const auto& [worth, m] : by_worth)
    order.push_back(m);
  return order;
}

LoadPlan MemoryBudget::plan_load(ModelId model, Instant now, Bytes device_room) const {
  const State& coming = state_of(model);
  if (coming.resident) return {};
  const Bytes needed = smallest_load(coming.facts);
  Bytes free = std::min(options_.room - used_, device_room);
  std::vector<uint32_t> evict;
  for (const uint32_t m : evictable(model, now)) {
    if (free >= needed) break;
    evict.push_back(m);
    free = free + held(ModelId(m));
  }
  if (free < needed) return {LoadPlan::Kind::kBlocked, {}, {}};
  // Whoever was chosen before a larger one may stay after all, the worthiest first.
  for (size_t i = evict.size(); i-- > 0;) {
    const Bytes without = free - held(ModelId(evict[i]));
    if (without < needed) continue;
    free = without;
    evict.erase(evict.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const Duration patience = options_.patience.value_or(coming.facts.reload);
  if (!evict.empty() && patience > Duration()) {
    Worth::Wide lost = 0;
    Bytes bytes;
    for (const uint32_t m : evict) {
      lost += worth_of(states_[m], Bytes(), now).cost;
      bytes = bytes + held(ModelId(m));
    }
    const Instant until = (coming.wanted ? coming.wanted_since : now) + patience;
    if (now < until && worth_of(coming, bytes, now).cost < lost) return {LoadPlan::Kind::kGather, {}, until};
  }
  LoadPlan plan{LoadPlan::Kind::kLoad, {}, {}};
  for (const uint32_t m : evict)
    plan.evict.emplace_back(m);
  return plan;
}

void MemoryBudget::commit_load(ModelId model, const LoadPlan& plan) {
  CHECK(plan.kind == LoadPlan::Kind::kLoad, "only a plan to load can be booked");
  for (const ModelId gone : plan.evict)
    unload(gone);
  State& state = state_of(model);
  CHECK(!state.resident, "model {} is there already", model.index());
  state.resident = true;
  ++present_;
  state.wanted = false;
  state.arena = arena_at_load(state.facts);
  used_ = used_ + held(model);
  loaded_ = loaded_ + state.facts.weights;
  CHECK(used_ <= options_.room, "{} bytes used of {}", used_.count(), options_.room.count());
}

Status MemoryBudget::measured(ModelId model, Bytes weights) {
  State& state = state_of(model);
  CHECK(state.resident && weights > Bytes(), "model {} measured at {} bytes", model.index(), weights.count());
  used_ = used_ - state.facts.weights + weights;
  state.facts.weights = weights;
  if (used_ > options_.room)
    return invalid("model {} took {} bytes: {} are used of {}; unload it or another", model.index(), weights.count(),
                   used_.count(), options_.room.count());
  if (held(model) > state.facts.budget)
    return invalid("model {} took {} bytes with a batch of 1, over its budget of {}: unload it or raise the budget",
                   model.index(), held(model).count(), state.facts.budget.count());
  return {};
}

void MemoryBudget::expect(ModelId model, Bytes weights) {
  State& state = state_of(model);
  CHECK(!state.resident && weights > Bytes(), "model {} is on the device, or has no weights", model.index());
  state.facts.weights = weights;
}

void MemoryBudget::unload(ModelId model) {
  State& state = state_of(model);
  CHECK(state.resident && state.in_flight == 0, "model {} has {} batches in flight", model.index(), state.in_flight);
  used_ = used_ - held(model);
  state.resident = false;
  --present_;
  state.arena = Bytes();
}

int64_t MemoryBudget::begin_batch(ModelId model, int64_t items) {
  State& state = state_of(model);
  const auto& activation = state.facts.activation;
  CHECK(state.resident, "model {} is not on the device", model.index());
  CHECK(items >= 1 && static_cast<size_t>(items) <= activation.size(), "a batch of {}: {} are measured", items,
        activation.size());
  // What the arena may grow to, by the device and by the model's own budget.
  const Bytes limit = std::min(state.arena + (options_.room - used_), state.facts.budget - state.facts.weights);
  const auto end = activation.begin() + items;
  const auto granted = std::upper_bound(activation.begin(), end, limit - state.running) - activation.begin();
  if (granted == 0) return 0;
  ++state.in_flight;
  state.running = state.running + activation[static_cast<size_t>(granted - 1)];
  const Bytes grown = std::max(state.arena, state.running);
  used_ = used_ + (grown - state.arena);
  state.arena = grown;
  return granted;
}

void MemoryBudget::end_batch(ModelId model, int64_t items) {
  State& state = state_of(model);
  CHECK(state.in_flight > 0, "model {} has nothing in flight", model.index());
  --state.in_flight;
  state.running = state.running - state.facts.activation[static_cast<size_t>(items - 1)];
}

Bytes MemoryBudget::trim(ModelId model) {
  State& state = state_of(model);
  if (!state.resident) return {};
  // A batch of one stays reserved: a resident model can always run.
  const Bytes kept = std::max(state.running, state.facts.activation.front());
  const Bytes freed = state.arena - kept;
  used_ = used_ - freed;
  state.arena = kept;
  return freed;
}

}  // namespace stint::batching
