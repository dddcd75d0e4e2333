#include "serve/served_model.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "serve/promise.h"

namespace stint::serve {

using batching::BatchId;
using batching::kNoDeadline;
using batching::RefusalReason;
using batching::RequestId;

namespace {

/// What handing a batch to another thread and being woken by it costs, about.
constexpr Duration kHandOver = Duration::nanoseconds(25'000);

/// A load as different as this from the one that was tuned for is tuned for anew.
constexpr double kLoadMoved = 1.25;

RequestId id_of(uint32_t slot, uint32_t round) { return RequestId{(uint64_t{round} << 32) | slot}; }
uint32_t slot_of(RequestId id) { return static_cast<uint32_t>(static_cast<uint64_t>(id)); }
uint32_t round_of(RequestId id) { return static_cast<uint32_t>(static_cast<uint64_t>(id) >> 32); }

bool all_are_quick(const ServedVariants& variants, int64_t max_batch) {
  return std::ranges::all_of(
      variants, [&](const auto& variant) { return !variant || variant->measured.latency.quantile(max_batch, 0.5) < kHandOver; });
}

/// That its batches share with the thread that has the connections; none: they are a GPU's, or only take time.
std::optional<int64_t> cores_for(const ModelSource& source) {
  const unsigned cores = std::thread::hardware_concurrency();  // of those this process may run on
  return source.gpu() == nullptr && source.onnx() != nullptr && cores > 0 ? std::optional<int64_t>(cores) : std::nullopt;
}

/// As policy_of() has it, and where there are several tenants, none fills the queue alone.
batching::BatchPolicy policy_among(const ServeTools& tools, const ServedModelConfig& config,
                                   const batching::LatencyProfile& latency, double per_second, std::optional<Duration> front) {
  batching::BatchPolicy policy = policy_of(config, latency, per_second, front);
  if (tools.tenant_weights.size() > 1) policy.tenant_limit = std::max<int64_t>(1, policy.queue_limit / 2);
  return policy;
}

StandIns stand_ins_of(const ServedVariants& variants, int64_t instances) {
  StandIns all;
  if (const auto& small = variants[static_cast<size_t>(Variant::kSmall)]) all.small = small->measured.memory.weights;
  if (const auto& host = variants[static_cast<size_t>(Variant::kHost)]) {
    const batching::ModelMemory& memory = host->measured.memory;
    all.host = memory.weights + Bytes::of(memory.activation.back().count() * instances);
  }
  return all;
}

}  // namespace

Result<std::shared_ptr<ServedModel>> ServedModel::create(std::string name, ServedVariants variants,
                                                         const ServedModelConfig& config, ServeTools& tools) {
  std::vector<batching::BatchPolicy> policies;
  batching::BatchPolicy policy =
      policy_among(tools, config, variants.front()->measured.latency, 0, variants.front()->measured.front);
  policies.push_back(policy);
  TRY_ASSIGN(batching::Batcher batcher, batching::Batcher::create(std::move(policies), tools.tenant_weights));
  const StandIns stand_ins = stand_ins_of(variants, config.instances);
  std::shared_ptr<ServedModel> model(
      new ServedModel(std::move(name), std::move(variants), config, tools, std::move(policy), std::move(batcher)));
  TRY_ASSIGN(model->memory_id_, tools.memory.add(model->measured().memory, model, stand_ins));
  return model;
}

ServedModel::ServedModel(std::string name, ServedVariants variants, const ServedModelConfig& config, ServeTools& tools,
                         batching::BatchPolicy policy, batching::Batcher batcher)
    : name_(std::move(name)),
      variants_(std::move(variants)),
      config_(config),
      in_place_(all_are_quick(variants_, config.max_batch)),
      tools_(tools),
      cache_owner_(tools.cache.new_owner()),
      batcher_(std::move(batcher)),
      watch_(measured().latency),
      policy_(std::move(policy)),
      most_per_second_(config.promise ? most_within_promise(measured().latency, policy_, *config.promise, measured().front,
                                                            {cores_for(source())})
                                      : 0) {}

ServedModel::~ServedModel() {
  if (memory_id_.valid()) tools_.memory.remove(memory_id_);
  tools_.cache.forget(cache_owner_);
}

RequestId ServedModel::submit(std::unique_ptr<InferCall> call, const CallTerms& terms) {
  ContentKey key = key_of(*call, terms);
  if (!key.empty() && answer_kept(*call, key)) return id_of(UINT32_MAX, 0);  // of none: there is nothing to cancel
  if (tools_.memory.refusing()) {
    call->refuse(RefusalReason::kNoMemory);
    const std::lock_guard lock(mutex_);
    ++figures_.counts().refused[static_cast<size_t>(RefusalReason::kNoMemory)];
    return id_of(UINT32_MAX, 0);
  }
  ++open_calls_;
  RequestId id;
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    const Instant now = steady_now();
    const std::optional<Duration> timeout = terms.timeout ? terms.timeout : config_.timeout;
    id = keep({std::move(call), terms.items, now, {}, terms.tenant, key});
    const batching::Request request{.id = id,
                                    .model = batching::ModelId(0),
                                    .tenant = terms.tenant,
                                    .items = terms.items,
                                    .priority = terms.priority,
                                    .deadline = timeout ? now + *timeout : kNoDeadline};
    if (!key.empty() && flights_.join(key, request)) {
      ++figures_.counts().cache_joined;
      return id;
    }
    if (!key.empty()) ++figures_.counts().cache_misses;
    tools_.memory.want(memory_id_, now);
    figures_.came(now);
    todo = step({{}, {}, std::span(&request, 1)});
  }
  work_off(std::move(todo));
  return id;
}

void ServedModel::cancel(RequestId id) {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    if (slot_of(id) >= slots_.size()) return;
    const Waiting& slot = slots_[slot_of(id)];
    if (slot.round != round_of(id) || !slot.member.call) return;
    const std::optional<batching::Request> next = flights_.leave(slot.member.key, id);
    todo = step({{}, std::span(&id, 1), next ? std::span(&*next, 1) : std::span<const batching::Request>()});
    take(id);
    ++figures_.counts().cancelled;
    --open_calls_;
  }
  work_off(std::move(todo));
}

RequestId ServedModel::keep(Member member) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  member.id = id_of(slot, slots_[slot].round);
  return (slots_[slot].member = std::move(member)).id;
}

void ServedModel::call_later(Duration wait, std::function<void()> call) {
  if (wait <= Duration()) return tools_.pool.submit(std::move(call));
  tools_.timer.wake(steady_now() + wait, [&pool = tools_.pool, later = std::move(call)] { pool.submit(later); });
}

void ServedModel::stream_began() {
  ++open_calls_;
  ++open_streams_;
  const std::lock_guard lock(mutex_);
  ++figures_.counts().streams;
}

ServedModel::Member ServedModel::take(RequestId id) {
  Waiting& slot = slots_[slot_of(id)];
  CHECK(slot.round == round_of(id) && slot.member.call, "request {} is not here", static_cast<uint64_t>(id));
  ++slot.round;
  free_.push_back(slot_of(id));
  return std::move(slot.member);
}

ServedModel::Todo ServedModel::step(batching::BatcherInput input) {
  Todo todo;
  std::vector<batching::Request> arrived, promoted;
  do {
    promoted.clear();
    add(batcher_.step(steady_now(), input), todo, promoted);
    arrived.swap(promoted);
    input = {{}, {}, arrived};
  } while (!arrived.empty());
  return todo;
}

void ServedModel::add(const batching::BatcherOutput& out, Todo& todo, std::vector<batching::Request>& promoted) {
  for (const batching::Refusal& refusal : out.refusals) {
    ++figures_.counts().refused[static_cast<size_t>(refusal.reason)];
    todo.refused.emplace_back(take(refusal.id), refusal.reason);
    if (const auto next = flights_.leave(todo.refused.back().first.key, refusal.id)) promoted.push_back(*next);
  }
  for (const batching::Dispatch& dispatch : out.dispatches) {
    Batch batch{dispatch.batch, dispatch.items, dispatch.expected_end, {}};
    batch.members.reserve(dispatch.members.size());
    for (const RequestId id : dispatch.members)
      batch.members.push_back(take(id));
    todo.batches.push_back(std::move(batch));
  }
  if (out.wake < wake_at_) {
    wake_at_ = out.wake;
    tools_.timer.wake(out.wake, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->wake();
    });
  }
}

void ServedModel::wake() {
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    wake_at_ = kNoDeadline;
    todo = step({});
  }
  work_off(std::move(todo));
}

void ServedModel::work_off(Todo todo) {
  for (;;) {
    for (auto& [member, reason] : todo.refused) {
      member.call->refuse(reason);
      --open_calls_;
    }
    if (in_place_ && todo.batches.size() == 1) {
      todo = run(todo.batches.front());
      continue;
    }
    for (Batch& batch : todo.batches)
      tools_.pool.submit(
          [self = shared_from_this(), held = std::make_shared<Batch>(std::move(batch))] { self->work_off(self->run(*held)); });
    return;
  }
}

ServedModel::Todo ServedModel::run(Batch& batch) {
  if (!execute(batch)) return {};
  return finished(batch);
}

ServedModel::Todo ServedModel::finished(const Batch& batch) {
  const std::lock_guard lock(mutex_);
  return step({std::span(&batch.id, 1), {}, {}});
}

bool ServedModel::execute(Batch& batch) {
  std::span<Member> rest = batch.members;
  while (!rest.empty()) {
    const std::vector<Shape> shapes = run_shapes(*rest.front().call);
    const bool apart = rest.front().call->keeps_apart(), fixed = measured().largest.empty();
    const auto is_alike = [&](const Member& member) {
      return member.call->keeps_apart() == apart && (fixed || run_shapes(*member.call) == shapes);
    };
    auto end = rest.end();
    if (!fixed || !std::ranges::all_of(rest, is_alike)) end = std::ranges::stable_partition(rest, is_alike).begin();
    const std::span<Member> alike(rest.begin(), end);
    const size_t answered = execute(alike, shapes);
    rest = rest.subspan(answered);
    if (answered < alike.size()) {
      batch.members.erase(batch.members.begin(), batch.members.end() - std::ssize(rest));
      {
        const std::lock_guard lock(mutex_);
        parked_.push_back(std::move(batch));
      }
      tools_.memory.need(memory_id_);
      return false;
    }
  }
  return true;
}

std::vector<Shape> ServedModel::run_shapes(const InferCall& call) const {
  if (measured().largest.empty()) return fixed_shapes(measured().inputs);
  const Sizes sizes = measured().padding.filled_up(sizes_in(measured().inputs, call.shapes()));
  std::vector<Shape> shapes;
  for (const TensorSpec& spec : measured().inputs)
    shapes.push_back(spec.shape_with(sizes));
  return shapes;
}

void ServedModel::write_input(const Member& member, size_t input, const Shape& shape, std::span<std::byte> to) const {
  const std::span<const std::byte> rows = member.call->input(input);
  if (measured().largest.empty() || member.call->shapes()[input] == shape) {
    CHECK(rows.size() == to.size(), "{} bytes of input {}; {} were expected", rows.size(), input, to.size());
    if (!to.empty()) std::memcpy(to.data(), rows.data(), to.size());
    return;
  }
  const Shape& own = member.call->shapes()[input];
  const auto items = static_cast<size_t>(member.items);
  const size_t own_size = rows.size() / items, size = to.size() / items;
  fill_with(to, measured().padding.value(input));
  for (size_t item = 0; item < items; ++item)
    copy_corner(rows.subspan(item * own_size, own_size), own, to.subspan(item * size, size), shape);
}

void ServedModel::append_texts(const Member& member, size_t input, const Shape& shape, Values& to) const {
  const std::span<const std::byte> texts = member.call->input(input);
  if (measured().largest.empty() || member.call->shapes()[input] == shape) {
    to.insert(to.end(), texts.begin(), texts.end());
    return;
  }
  const Values& fill = measured().padding.value(input);
  append_corner({texts, member.items}, member.call->shapes()[input], shape,
                {reinterpret_cast<const char*>(fill.data()), fill.size()}, to);
}

Values ServedModel::rows_of(std::span<const Member> members, size_t input, const Shape& shape) const {
  const DataType type = measured().inputs[input].type;
  Values values;
  if (type == DataType::kBytes) {
    for (const Member& member : members)
      append_texts(member, input, shape, values);
    return values;
  }
  const size_t item = static_cast<size_t>(count_of(shape)) * size_of(type);
  size_t bytes = 0;
  for (const Member& member : members)
    bytes += static_cast<size_t>(member.items) * item;
  values.resize(std::exchange(bytes, 0));
  for (const Member& member : members) {
    const size_t count = static_cast<size_t>(member.items) * item;
    write_input(member, input, shape, std::span(values).subspan(bytes, count));
    bytes += count;
  }
  return values;
}

size_t ServedModel::execute(std::span<Member> members, const std::vector<Shape>& shapes) {
  const Instant begin = steady_now();
  int64_t items = 0;
  for (const Member& member : members)
    items += member.items;
  std::vector<Values> in;
  for (size_t i = 0; i < measured().inputs.size(); ++i)
    in.push_back(rows_of(members, i, shapes[i]));
  const Ran ran = compute(items, in, shapes);
  if (ran.absent) return 0;
  const Duration took = steady_now() - begin;
  {
    const std::lock_guard lock(mutex_);
    ServeFigures& counts = figures_.counts();
    ++counts.batches;
    counts.items += items;
    counts.batch_time.add(took);
    if (took > watch_.profile().quantile(items, 0.5) * 2) ++counts.late_batches;
    if (ran.out.ok()) watch_.add(items, took);
  }
  if (ran.out.ok() || members.size() == 1) {
    answer(members, ran);
    return members.size();
  }
  const size_t half = members.size() / 2, answered = execute(members.first(half), shapes);
  return answered < half ? answered : half + execute(members.subspan(half), shapes);
}

/// In as many pieces as memory allows: the items of a batch do not depend on each other.
ServedModel::Ran ServedModel::compute(int64_t items, const std::vector<Values>& in, const std::vector<Shape>& shapes) {
  std::vector<ShapedValues> out;
  bool original = true;
  std::vector<size_t> at(in.size());
  for (int64_t done = 0; done < items;) {
    const std::optional<int64_t> granted = tools_.memory.begin(memory_id_, items - done);
    if (!granted) return {std::move(out), true, original};
    std::shared_ptr<Runtime> runtime;
    {
      const std::lock_guard lock(mutex_);
      runtime = runtime_;
      original = original && running_ == Variant::kWhole;
    }
    const bool whole = *granted == items;
    std::vector<Values> piece;
    for (size_t i = 0; !whole && i < in.size(); ++i) {
      const auto rest = std::span(in[i]).subspan(at[i]);
      const size_t size = bytes_of_items(measured().inputs[i].type, rest, *granted, count_of(shapes[i]));
      piece.emplace_back(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
      at[i] += size;
    }
    Result<std::vector<ShapedValues>> ran = runtime->run_shaped(*granted, whole ? in : piece, shapes);
    runtime.reset();  // before the keeper may let it go
    tools_.memory.end(memory_id_, *granted);
    if (!ran.ok() || whole) return {std::move(ran), false, original};
    if (done == 0) out.resize(ran->size());
    for (size_t o = 0; o < out.size(); ++o) {
      if (done > 0 && out[o].item_shape != (*ran)[o].item_shape)
        return {invalid("output {} has items of several shapes: they depend on each other", measured().outputs[o].name), false,
                original};
      out[o].item_shape = std::move((*ran)[o].item_shape);
      out[o].values.insert(out[o].values.end(), (*ran)[o].values.begin(), (*ran)[o].values.end());
    }
    done += *granted;
  }
  return {std::move(out), false, original};
}

void ServedModel::answer(std::span<Member> members, const Ran& ran) {
  const Result<std::vector<ShapedValues>>& out = ran.out;
  std::vector<size_t> at(measured().outputs.size());
  std::vector<Instant> came;
  for (Member& member : members) {
    std::vector<OutputRows> rows;
    for (size_t o = 0; out.ok() && o < at.size(); ++o) {
      const ShapedValues& all = (*out)[o];
      const auto rest = std::span(all.values).subspan(at[o]);
      const size_t size = bytes_of_items(measured().outputs[o].type, rest, member.items, count_of(all.item_shape));
      rows.push_back({rest.first(size), all.item_shape});
      at[o] += size;
    }
    const OwnRows own = own_rows(member, std::move(rows));
    const std::vector<Member> joined =
        member.key.empty() ? std::vector<Member>() : land(member, out.ok() && ran.whole ? &own : nullptr);
    const auto end = [&](const Member& one) {
      if (out.ok())
        one.call->answer(own.rows);
      else
        one.call->fail(out.error());
      came.push_back(one.since);
      --open_calls_;
    };
    end(member);
    std::ranges::for_each(joined, end);
  }
  const Instant now = steady_now();
  const std::lock_guard lock(mutex_);
  ServeFigures& counts = figures_.counts();
  (out.ok() ? counts.answered : counts.failed) += std::ssize(came);
  for (const Instant since : came)
    figures_.ended(now, now - since);
}

ServedModel::OwnRows ServedModel::own_rows(const Member& member, std::vector<OutputRows> rows) const {
  OwnRows own{std::move(rows), {}, {}};
  if (measured().padding.none()) return own;
  own.cut.resize(own.rows.size());
  own.shapes.resize(own.rows.size());
  const Sizes sizes = sizes_in(measured().inputs, member.call->shapes());
  for (size_t o = 0; o < own.rows.size(); ++o) {
    OutputRows& output = own.rows[o];
    Shape& shape = own.shapes[o];
    shape = measured().outputs[o].shape_with(sizes);
    const Shape full(output.item_shape.begin(), output.item_shape.end());
    if (shape == full || std::ranges::any_of(shape, [](int64_t size) { return size < 0; })) continue;
    const auto items = static_cast<size_t>(member.items);
    if (measured().outputs[o].type == DataType::kBytes) {
      append_corner({output.values, member.items}, full, shape, "", own.cut[o]);
      output = {own.cut[o], shape};
      continue;
    }
    const size_t from = output.values.size() / items;
    const size_t to = static_cast<size_t>(count_of(shape)) * size_of(measured().outputs[o].type);
    own.cut[o].resize(items * to);
    for (size_t item = 0; item < items; ++item)
      copy_corner(output.values.subspan(item * from, from), full, std::span(own.cut[o]).subspan(item * to, to), shape);
    output = {own.cut[o], shape};
  }
  return own;
}

ServeFigures ServedModel::figures() const {
  const std::lock_guard lock(mutex_);
  ServeFigures figures = figures_.read(steady_now());
  figures.waiting = batcher_.waiting(batching::ModelId(0));
  figures.running = batcher_.running(batching::ModelId(0));
  figures.most_per_second = most_per_second_;
  figures.latency_ratio = watch_.ratio();
  figures.open_streams = open_streams_.load();
  figures.preferred_batch = policy_.preferred.empty() ? policy_.max_batch : policy_.preferred.front();
  figures.max_wait = policy_.max_wait;
  return figures;
}

std::optional<std::string> ServedModel::retune() {
  const std::lock_guard one(tuning_);
  std::optional<batching::LatencyProfile> latency;
  double per_second = 0, ratio = 1;
  bool drifted = false, moved = false;
  {
    const std::lock_guard lock(mutex_);
    per_second = std::max(1.0, figures_.read(steady_now()).per_second);
    drifted = watch_.follow();
    moved = config_.tune && (per_second > tuned_for_ * kLoadMoved || per_second < tuned_for_ / kLoadMoved);
    latency = watch_.profile();
    ratio = watch_.ratio();
  }
  if (!drifted && !moved) return std::nullopt;
  const batching::BatchPolicy before = policy_;
  go_by(*latency, per_second, drifted || ratio != 1 ? per_second : 0);
  if (!config_.promise || (!drifted && policy_.max_wait == before.max_wait && policy_.preferred == before.preferred))
    return std::nullopt;
  return fmt::format(
      "batches take {:.2f} times as long as measured; {:.4g} requests/s: wait {:.3g} ms, up to {:.4g}/s within the promise",
      ratio, per_second, policy_.max_wait.to_seconds() * 1e3, most_per_second_);
}

void ServedModel::go_by(const batching::LatencyProfile& latency, double per_second, double seen_per_second) {
  batching::BatchPolicy policy = policy_among(tools_, config_, latency, per_second, measured().front);
  const double most = config_.promise ? most_within_promise(latency, policy, *config_.promise, measured().front,
                                                            {cores_for(source()), seen_per_second})
                                      : 0;
  Todo todo;
  {
    const std::lock_guard lock(mutex_);
    const Status changed = batcher_.change(batching::ModelId(0), policy);
    CHECK(changed.ok(), "{}", changed.error().message);
    policy_ = std::move(policy);
    tuned_for_ = per_second;
    most_per_second_ = most;
    ++figures_.counts().retunes;
    todo = step({});
  }
  work_off(std::move(todo));
}

Status ServedModel::load(Variant variant) {
  const std::optional<ServedVariant>& chosen = variants_[static_cast<size_t>(variant)];
  CHECK(chosen, "model {} has no variant {}", name_, static_cast<int>(variant));
  TRY_ASSIGN(std::shared_ptr<Runtime> runtime, chosen->source.open());
  const std::lock_guard one(tuning_);
  if (timed_ != variant) {
    {
      const std::lock_guard lock(mutex_);
      watch_ = batching::LatencyWatch(chosen->measured.latency);
    }
    go_by(chosen->measured.latency, tuned_for_, 0);
    timed_ = variant;
  }
  const std::lock_guard lock(mutex_);
  runtime_ = std::move(runtime);
  running_ = variant;
  return {};
}

void ServedModel::trim() {
  std::shared_ptr<Runtime> runtime;
  {
    const std::lock_guard lock(mutex_);
    runtime = runtime_;
  }
  if (runtime) runtime->trim();
}

void ServedModel::unload() {
  std::shared_ptr<Runtime> last;  // ends after the lock
  const std::lock_guard lock(mutex_);
  last.swap(runtime_);
}

void ServedModel::settled(const Status& status) {
  std::vector<Batch> parked;
  {
    const std::lock_guard lock(mutex_);
    parked.swap(parked_);
  }
  for (Batch& batch : parked) {
    tools_.pool.submit([self = shared_from_this(), held = std::make_shared<Batch>(std::move(batch)), status] {
      if (status.ok()) return self->work_off(self->run(*held));
      self->answer(held->members,
                   {make_error(ErrorCode::kUnavailable, "the model could not be loaded: {}", status.error().message)});
      self->work_off(self->finished(*held));
    });
  }
}

}  // namespace stint::serve
