// How many requests a second one core takes from arrival to batch and to the batch's end.
//
// The world around the batcher is as cheap as it can be: arrivals at an even pace, batches that take what the curve says. Three
// loads: requests one by one; in groups of 16, as a server reads them from its sockets; and with all that costs extra: 20 models,
// 3 shapes, 50 tenants, 4 priorities, deadlines on all, 2 % cancelled.
#include <benchmark/benchmark.h>

#include "base/prng.h"
#include "batching/batcher.h"

namespace stint::batching {
namespace {

struct Load {
  uint32_t models = 1;
  int64_t shapes = 1;
  uint32_t tenants = 1;
  int64_t group = 1;
  bool rich = false;         // priorities, deadlines, cancellations
  int64_t pace_ns = 14'000;  // between a model's requests. A batch of 32 takes 720 µs: two instances are 80 % busy
};

Batcher make(const Load& load) {
  std::vector<BatchPolicy> models;
  for (uint32_t m = 0; m < load.models; ++m) {
    BatchPolicy policy;
    policy.max_batch = 32;
    policy.max_wait = Duration::milliseconds(2);
    policy.instances = 2;
    for (int64_t s = 1; s <= load.shapes; ++s) {
      std::vector<Duration> by_size;
      for (int64_t n = 1; n <= policy.max_batch; ++n)
        by_size.push_back(Duration::nanoseconds(400'000 + n * 10'000 * s));
      policy.buckets.push_back({100 * s, LatencyCurve::create(std::move(by_size)).value()});
    }
    models.push_back(std::move(policy));
  }
  return std::move(Batcher::create(std::move(models), std::vector<int64_t>(load.tenants, 1))).value();
}

void run(benchmark::State& state, const Load& load) {
  Batcher batcher = make(load);
  Prng prng(1);
  std::vector<Request> arrived(static_cast<size_t>(load.group));
  std::vector<RequestId> cancelled;
  std::vector<BatchId> finished;
  std::vector<std::pair<Instant, BatchId>> running;
  uint64_t id = 0;
  int64_t batched = 0, refused = 0, batches = 0;
  Instant now;
  const Duration pace = Duration::nanoseconds(load.pace_ns * load.group / load.models);
  for (auto _ : state) {
    now = now + pace;
    for (Request& r : arrived) {
      r = Request{RequestId{++id}, ModelId(static_cast<uint32_t>(id % load.models)), TenantId(0)};
      if (!load.rich) continue;
      const uint64_t draw = prng.next();
      r.tenant = TenantId(static_cast<uint32_t>(draw % load.tenants));
      r.length = static_cast<int64_t>((draw >> 16) % static_cast<uint64_t>(100 * load.shapes));
      r.priority = static_cast<int>((draw >> 32) % kPriorities);
      r.deadline = now + Duration::milliseconds(1 + static_cast<int64_t>((draw >> 40) % 16));
    }
    cancelled.clear();
    if (load.rich && id % 50 == 0) cancelled.push_back(RequestId{id - 25});
    finished.clear();
    std::erase_if(running, [&](const auto& batch) {
      if (batch.first > now) return false;
      finished.push_back(batch.second);
      return true;
    });
    const BatcherOutput out = batcher.step(now, {finished, cancelled, arrived});
    for (const Dispatch& d : out.dispatches) {
      running.emplace_back(d.expected_end, d.batch);
      batched += static_cast<int64_t>(d.members.size());
      ++batches;
    }
    refused += static_cast<int64_t>(out.refusals.size());
  }
  state.SetItemsProcessed(static_cast<int64_t>(id));
  state.counters["mean batch"] = static_cast<double>(batched) / static_cast<double>(batches);
  state.counters["refused %"] = 100.0 * static_cast<double>(refused) / static_cast<double>(id);
}

void one_by_one(benchmark::State& state) { run(state, {}); }
void groups_of_16(benchmark::State& state) { run(state, {1, 1, 1, 16, false}); }
void everything(benchmark::State& state) { run(state, {20, 3, 50, 16, true, 40'000}); }
BENCHMARK(one_by_one);
BENCHMARK(groups_of_16);
BENCHMARK(everything);

}  // namespace
}  // namespace stint::batching
