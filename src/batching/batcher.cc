#include "batching/batcher.h"

#include <algorithm>

#include "batching/fair_lanes.h"
#include "batching/indexed_heap.h"
#include "batching/request_table.h"

namespace stint::batching {
namespace {

constexpr size_t kMostTenants = 1 << 16;
constexpr size_t kMostWaiting = 1 << 26;

size_t slots_of(const std::vector<BatchPolicy>& models) {
  size_t sum = 0;
  for (const BatchPolicy& model : models)
    sum += static_cast<size_t>(model.queue_limit);
  return sum;
}

std::vector<uint32_t> models_of_buckets(const std::vector<BatchPolicy>& models) {
  std::vector<uint32_t> owners;
  for (size_t m = 0; m < models.size(); ++m)
    owners.insert(owners.end(), models[m].buckets.size(), static_cast<uint32_t>(m));
  return owners;
}

}  // namespace

struct Batcher::Impl {
  /// Requests of one shape that wait.
  struct Bucket {
    IndexedHeap<Instant> deadlines;  // of those that have one, by slot
    uint32_t oldest = kNoSlot, newest = kNoSlot;
  };
  struct Model {
    BatchPolicy policy;
    uint32_t first_bucket = 0;
    uint32_t first_batch = 0;
    int64_t running = 0;
    int64_t waiting = 0;
    bool touched = false;
  };
  struct Running {
    uint32_t model = 0;
    bool busy = false;
    Instant expected_end;
  };

  Impl(std::vector<BatchPolicy> policies, const std::vector<int64_t>& weights)
      : table(slots_of(policies)),
        lanes(table, models_of_buckets(policies), weights),
        tenants(weights.size()),
        deadline_places(slots_of(policies), IndexedHeap<Instant>::kAbsent),
        wake_places(policies.size(), IndexedHeap<Instant>::kAbsent),
        wakes(wake_places, policies.size()) {
    size_t most_members = 0;
    for (BatchPolicy& policy : policies) {
      const auto index = static_cast<uint32_t>(models.size());
      most_members += static_cast<size_t>(std::min(policy.queue_limit, policy.instances * policy.max_batch));
      Model model{std::move(policy), static_cast<uint32_t>(buckets.size()), static_cast<uint32_t>(batches.size())};
      batches.resize(batches.size() + static_cast<size_t>(model.policy.instances), Running{index});
      for (size_t b = 0; b < model.policy.buckets.size(); ++b)
        buckets.push_back({IndexedHeap<Instant>(deadline_places, static_cast<size_t>(model.policy.queue_limit))});
      models.push_back(std::move(model));
    }
    touched.reserve(models.size());
    dispatches.reserve(batches.size());
    members.reserve(most_members);
    refusals.reserve(slots_of_models());
  }

  [[nodiscard]] size_t slots_of_models() const {
    size_t sum = 0;
    for (const Model& model : models)
      sum += static_cast<size_t>(model.policy.queue_limit);
    return sum;
  }
  [[nodiscard]] const LatencyCurve& curve(const Model& model, uint32_t bucket) const {
    return model.policy.buckets[bucket - model.first_bucket].latency;
  }

  void touch(uint32_t model) {
    if (models[model].touched) return;
    models[model].touched = true;
    touched.push_back(model);
  }
  void refuse(RequestId id, RefusalReason reason) { refusals.push_back({id, reason}); }

  // Waiting and leaving.

  void enter(const Request& request, uint32_t bucket, Instant now) {
    const uint32_t slot = table.add(request, bucket, now);
    lanes.add(slot);
    Bucket& into = buckets[bucket];
    table[slot].arrival_before = into.newest;
    (into.newest == kNoSlot ? into.oldest : table[into.newest].arrival_after) = slot;
    into.newest = slot;
    if (request.deadline != kNoDeadline) into.deadlines.put(slot, request.deadline);
    ++models[request.model.index()].waiting;
  }
  void leave(uint32_t slot) {
    const WaitingRequest& entry = table[slot];
    Bucket& from = buckets[entry.bucket];
    (entry.arrival_before == kNoSlot ? from.oldest : table[entry.arrival_before].arrival_after) = entry.arrival_after;
    (entry.arrival_after == kNoSlot ? from.newest : table[entry.arrival_after].arrival_before) = entry.arrival_before;
    from.deadlines.remove(slot);
    --models[entry.request.model.index()].waiting;
    lanes.remove(slot);
    table.remove(slot);
  }
  void refuse_waiting(uint32_t slot) {
    refuse(table[slot].request.id, RefusalReason::kDoomed);
    leave(slot);
  }

  // What came.

  void finish(BatchId id) {
    CHECK(id.valid() && id.index() < batches.size() && batches[id.index()].busy, "batch {} does not run", id.index());
    Running& batch = batches[id.index()];
    batch.busy = false;
    --models[batch.model].running;
    touch(batch.model);
  }

  void cancel(RequestId id) {
    const uint32_t slot = table.find(id);
    if (slot == kNoSlot) return;
    touch(table[slot].request.model.index());
    leave(slot);
  }

  void arrive(const Request& request, Instant now) {
    if (request.model.index() >= models.size() || request.tenant.index() >= tenants)
      return refuse(request.id, RefusalReason::kUnknownModel);
    const Model& model = models[request.model.index()];
    if (request.items < 1 || request.priority < 0 || request.priority >= kPriorities)
      return refuse(request.id, RefusalReason::kMalformed);
    if (request.items > model.policy.max_batch) return refuse(request.id, RefusalReason::kTooManyItems);
    const int offset = bucket_of(model.policy.buckets, request.length);
    if (offset < 0) return refuse(request.id, RefusalReason::kTooLong);
    if (table.find(request.id) != kNoSlot) return refuse(request.id, RefusalReason::kDuplicate);
    const uint32_t bucket = model.first_bucket + static_cast<uint32_t>(offset);
    // Checked before the queue's limits: waiting for room would not help this one.
    if (request.deadline != kNoDeadline && earliest_start(model, now) + curve(model, bucket).at(request.items) > request.deadline)
      return refuse(request.id, RefusalReason::kDoomed);
    if (model.waiting >= model.policy.queue_limit) return refuse(request.id, RefusalReason::kQueueFull);
    if (lanes.waiting(request.model.index(), request.tenant.index()) >= model.policy.tenant_limit)
      return refuse(request.id, RefusalReason::kTenantLimit);
    enter(request, bucket, now);
    touch(request.model.index());
  }

  /// When an instance is free, as far as the latency curve knows; never before now.
  [[nodiscard]] Instant earliest_start(const Model& model, Instant now) const {
    if (model.running < model.policy.instances) return now;
    Instant earliest = kNoDeadline;
    for (uint32_t b = model.first_batch; b < model.first_batch + static_cast<uint32_t>(model.policy.instances); ++b)
      earliest = std::min(earliest, batches[b].expected_end);
    return std::max(now, earliest);
  }

  // What starts.

  [[nodiscard]] int64_t batch_of(const Model& model, int64_t items) const { return std::min(items, model.policy.max_batch); }

  /// How many items the next batch should have when so many wait.
  [[nodiscard]] int64_t wanted_size(const Model& model, int64_t items) const {
    const auto& preferred = model.policy.preferred;
    const auto above = std::upper_bound(preferred.begin(), preferred.end(), items);
    return above == preferred.begin() ? batch_of(model, items) : *(above - 1);
  }

  /// When the requests of this bucket must start even if no more come; a time not after `now` says start.
  [[nodiscard]] Instant start_by(const Model& model, uint32_t bucket) const {
    const Bucket& b = buckets[bucket];
    const int64_t items = lanes.items(bucket);
    const int64_t enough = model.policy.preferred.empty() ? model.policy.max_batch : model.policy.preferred.front();
    if (items >= enough) return Instant::from_ns(INT64_MIN);
    Instant by = table[b.oldest].since + model.policy.max_wait;
    if (!b.deadlines.empty()) by = std::min(by, b.deadlines.top_key() - curve(model, bucket).at(batch_of(model, items)));
    return by;
  }

  /// The last instant at which the earliest deadline can be met by a batch of that request alone.
  [[nodiscard]] Instant doomed_after(const Model& model, uint32_t bucket) const {
    const Bucket& b = buckets[bucket];
    if (b.deadlines.empty()) return kNoDeadline;
    return b.deadlines.top_key() - curve(model, bucket).at(table[b.deadlines.top()].request.items);
  }

  /// Who goes first: the more urgent, then the tenant that has had less, then who has waited longer, then the shorter shape.
  [[nodiscard]] bool goes_before(uint32_t bucket, uint32_t other) {
    const int lane = lanes.first_lane(bucket);
    const int other_lane = lanes.first_lane(other);
    if (lane != other_lane) return lane < other_lane;
    const int64_t had = lanes.virtual_time(lanes.next(bucket, lane));
    const int64_t other_had = lanes.virtual_time(lanes.next(other, other_lane));
    if (had != other_had) return had < other_had;
    return table[buckets[bucket].oldest].since < table[buckets[other].oldest].since;
  }

  /// The bucket whose batch starts now; UINT32_MAX when none has to.
  uint32_t ready_bucket(const Model& model, Instant now) {
    uint32_t best = UINT32_MAX;
    for (uint32_t b = model.first_bucket; b < model.first_bucket + model.policy.buckets.size(); ++b)
      if (buckets[b].oldest != kNoSlot && start_by(model, b) <= now && (best == UINT32_MAX || goes_before(b, best))) best = b;
    return best;
  }

  void serve(uint32_t index, Instant now) {
    Model& model = models[index];
    for (;;) {
      // Anew each time: the next deadline may belong to a larger request.
      refuse_doomed(model, now);
      if (model.running == model.policy.instances) return;
      const uint32_t bucket = ready_bucket(model, now);
      if (bucket == UINT32_MAX) return;
      if (!drop_for_full_batch(model, bucket, now)) start_batch(index, bucket, now);
    }
  }

  void refuse_doomed(const Model& model, Instant now) {
    for (uint32_t b = model.first_bucket; b < model.first_bucket + model.policy.buckets.size(); ++b)
      while (doomed_after(model, b) < now)
        refuse_waiting(buckets[b].deadlines.top());
  }

  /// Where a full batch of others waits, who has no time left for a full batch is refused. @return whether anyone was
  bool drop_for_full_batch(const Model& model, uint32_t bucket, Instant now) {
    const Bucket& b = buckets[bucket];
    const Instant last = now + curve(model, bucket).at(model.policy.max_batch);
    bool dropped = false;
    while (!b.deadlines.empty() && b.deadlines.top_key() < last) {
      const Request& tight = table[b.deadlines.top()].request;
      if (lanes.items(bucket, tight.priority) - tight.items < model.policy.max_batch) break;
      refuse_waiting(b.deadlines.top());
      dropped = true;
    }
    return dropped;
  }

  void start_batch(uint32_t index, uint32_t bucket, Instant now) {
    Model& model = models[index];
    const Bucket& b = buckets[bucket];
    const size_t first = members.size();
    const int64_t wanted = wanted_size(model, lanes.items(bucket));
    const int64_t in_time = b.deadlines.empty() ? wanted : curve(model, bucket).largest_within(b.deadlines.top_key() - now);
    const int64_t room = std::min(wanted, in_time);
    int64_t items = in_time < wanted ? take(b.deadlines.top()) : 0;
    for (int priority = 0; priority < kPriorities; ++priority) {
      for (uint32_t slot = lanes.next(bucket, priority); slot != kNoSlot; slot = lanes.next(bucket, priority)) {
        if (items + table[slot].request.items > room) {
          // No request overtakes one that does not fit. A first one larger than the preferred size goes alone, or the earliest deadline does.
          if (items == 0) items += take(table[slot].request.items <= in_time || b.deadlines.empty() ? slot : b.deadlines.top());
          return launch(index, bucket, first, items, now);
        }
        items += take(slot);
      }
    }
    launch(index, bucket, first, items, now);
  }

  /// From the queue into the batch. @return its items
  int64_t take(uint32_t slot) {
    const int64_t items = table[slot].request.items;
    members.push_back(table[slot].request.id);
    lanes.charge(slot);
    leave(slot);
    return items;
  }

  void launch(uint32_t index, uint32_t bucket, size_t first, int64_t items, Instant now) {
    Model& model = models[index];
    uint32_t batch = model.first_batch;
    while (batches[batch].busy)
      ++batch;
    const Instant end = now + curve(model, bucket).at(items);
    batches[batch].busy = true;
    batches[batch].expected_end = end;
    ++model.running;
    const ShapeBucket& shape = model.policy.buckets[bucket - model.first_bucket];
    dispatches.push_back(
        {BatchId(batch), ModelId(index), shape.longest, items, end, std::span(members).subspan(first, members.size() - first)});
  }

  void set_wake(uint32_t index) {
    const Model& model = models[index];
    Instant wake = kNoDeadline;
    for (uint32_t b = model.first_bucket; b < model.first_bucket + model.policy.buckets.size(); ++b) {
      if (buckets[b].oldest == kNoSlot) continue;
      const Instant doomed = doomed_after(model, b);
      if (doomed != kNoDeadline) wake = std::min(wake, doomed + Duration::nanoseconds(1));
      if (model.running < model.policy.instances) wake = std::min(wake, start_by(model, b));
    }
    if (wake == kNoDeadline)
      wakes.remove(index);
    else
      wakes.put(index, wake);
  }

  BatcherOutput step(Instant at, const BatcherInput& input) {
    CHECK(at >= last_step, "time goes back from {} to {}", last_step.ns(), at.ns());
    last_step = at;
    touched.clear();
    dispatches.clear();
    members.clear();
    refusals.clear();
    for (const BatchId id : input.finished)
      finish(id);
    for (const RequestId id : input.cancelled)
      cancel(id);
    for (const Request& request : input.arrived)
      arrive(request, at);
    while (!wakes.empty() && wakes.top_key() <= at) {
      touch(wakes.top());
      wakes.remove(wakes.top());
    }
    std::sort(touched.begin(), touched.end());
    for (const uint32_t model : touched) {
      serve(model, at);
      set_wake(model);
      models[model].touched = false;
    }
    return {dispatches, refusals, wakes.empty() ? kNoDeadline : wakes.top_key()};
  }

  RequestTable table;
  FairLanes lanes;
  size_t tenants;
  std::vector<uint32_t> deadline_places;
  std::vector<uint32_t> wake_places;
  IndexedHeap<Instant> wakes;  // of models
  std::vector<Model> models;
  std::vector<Bucket> buckets;   // of all models
  std::vector<Running> batches;  // by BatchId
  Instant last_step = Instant::from_ns(INT64_MIN);

  std::vector<uint32_t> touched;  // models something happened to in this step
  std::vector<Dispatch> dispatches;
  std::vector<RequestId> members;
  std::vector<Refusal> refusals;
};

std::string_view name_of(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kUnknownModel: return "unknown model or tenant";
    case RefusalReason::kMalformed: return "malformed";
    case RefusalReason::kTooManyItems: return "more items than the largest batch";
    case RefusalReason::kTooLong: return "longer than the longest shape";
    case RefusalReason::kDuplicate: return "a request of this id waits already";
    case RefusalReason::kQueueFull: return "the queue is full";
    case RefusalReason::kTenantLimit: return "the tenant's part of the queue is full";
    case RefusalReason::kDoomed: return "its deadline cannot be met";
    case RefusalReason::kNoMemory: return "the device's memory is full";
  }
  return "unknown";
}

Result<Batcher> Batcher::create(std::vector<BatchPolicy> models, std::vector<int64_t> tenant_weights) {
  if (models.empty()) return invalid("a batcher needs a model");
  if (tenant_weights.empty() || tenant_weights.size() > kMostTenants)
    return invalid("{} tenants: 1 to {} are possible", tenant_weights.size(), kMostTenants);
  for (size_t t = 0; t < tenant_weights.size(); ++t)
    if (tenant_weights[t] < 1 || tenant_weights[t] > FairLanes::kHeaviest)
      return invalid("tenant {} has the weight {}: 1 to {} are possible", t, tenant_weights[t], FairLanes::kHeaviest);
  for (size_t m = 0; m < models.size(); ++m)
    if (const Status sound = check_policy(models[m]); !sound.ok()) return invalid("model {}: {}", m, sound.error().message);
  if (slots_of(models) > kMostWaiting)
    return invalid("queues of {} requests together: {} are possible", slots_of(models), kMostWaiting);
  return Batcher(std::make_unique<Impl>(std::move(models), tenant_weights));
}

Batcher::Batcher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Batcher::Batcher(Batcher&&) noexcept = default;
Batcher& Batcher::operator=(Batcher&&) noexcept = default;
Batcher::~Batcher() = default;

BatcherOutput Batcher::step(Instant now, const BatcherInput& input) { return impl_->step(now, input); }

Status Batcher::change(ModelId model, BatchPolicy policy) {
  TRY(check_policy(policy));
  const BatchPolicy& now = impl_->models[model.index()].policy;
  const bool same_room = policy.max_batch == now.max_batch && policy.instances == now.instances &&
                         policy.queue_limit == now.queue_limit && policy.tenant_limit == now.tenant_limit &&
                         std::ranges::equal(policy.buckets, now.buckets, {}, &ShapeBucket::longest, &ShapeBucket::longest);
  if (!same_room) return invalid("the largest batch, the lengths, the instances and the limits stay as they were created");
  impl_->models[model.index()].policy = std::move(policy);
  impl_->set_wake(model.index());
  return {};
}

int64_t Batcher::waiting(ModelId model) const { return impl_->models[model.index()].waiting; }
int64_t Batcher::running(ModelId model) const { return impl_->models[model.index()].running; }

}  // namespace stint::batching
