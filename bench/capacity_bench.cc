// How long does it take to list 10,000 machines and compare them with the book, and does memory stay flat?
//   build/release/bench/capacity_bench
#include <benchmark/benchmark.h>

#include <fstream>
#include <string>

#include "capacity/testing_capacity.h"

namespace stint {
namespace {

double resident_mib() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return static_cast<double>(resident) * 4096 / (1 << 20);
}

/// So many machines of 24 pools that are ready.
CapacityWorld grown(int64_t machines) {
  std::vector<CapacityPool> pools;
  for (int i = 0; i < 24; ++i)
    pools.push_back(testing_pool(fmt::format("p{:02}", i), 10 + i, i % 2 == 0 ? Market::kSpot : Market::kOnDemand));
  CapacityRules rules = testing_rules(std::move(pools));
  rules.spread = 0.2;
  CapacityWorld world(std::move(rules), quiet_cloud());
  world.wishes = {{.id = "burst", .machines = static_cast<int32_t>(machines)}};
  for (int i = 0; i < 100 && world.in_state(MadeState::kReady) < machines; ++i) {
    world.step();
    world.now = world.now + Duration::seconds(31);
  }
  return world;
}

/// The list and the step that takes it in.
void list_and_reconcile(benchmark::State& state) {
  CapacityWorld world = grown(state.range(0));
  if (world.in_state(MadeState::kReady) != state.range(0)) return state.SkipWithError("not all are ready");
  const double before = resident_mib();
  int64_t passes = 0;
  for (auto _ : state) {
    world.book.look_now();
    const CapacityStep asked = world.book.step(world.now, {.wishes = world.wishes}, {});
    world.cloud.list(*asked.list, world.now);
    world.now = world.now + Duration::seconds(2);
    const CapacityStep step = world.book.step(world.now, {.wishes = world.wishes}, world.cloud.hear(world.now));
    if (!step.rows.empty()) return state.SkipWithError("a list that says what is known changes nothing");
    ++passes;
  }
  state.counters["grown_mib"] = resident_mib() - before;
}
BENCHMARK(list_and_reconcile)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);

/// A tenth is taken away by others between two lists, and is replaced.
void list_and_replace(benchmark::State& state) {
  CapacityWorld world = grown(state.range(0));
  double before = 0;
  int64_t passes = 0;
  for (auto _ : state) {
    DestroyOrder others;
    for (auto at = world.cloud.there().begin(); std::ssize(others.targets) < state.range(0) / 10; ++at)
      others.targets.push_back({.name = at->second.name, .id = at->first});
    state.PauseTiming();
    world.cloud.destroy(others, world.now);
    world.rows.clear();
    world.news.clear();
    state.ResumeTiming();
    for (int i = 0; i < 20; ++i) {
      CapacityHeard heard = world.cloud.hear(world.now);
      const CapacityStep step = world.book.step(world.now, {.wishes = world.wishes}, heard);
      for (const CreateOrder& order : step.creates)
        world.cloud.create(order, world.now);
      if (step.list) world.cloud.list(*step.list, world.now);
      world.now = world.now + Duration::seconds(31);
    }
    if (++passes == 3) before = resident_mib();
  }
  state.counters["grown_mib"] = passes > 3 ? resident_mib() - before : 0;
  state.counters["ready"] = static_cast<double>(world.in_state(MadeState::kReady));
}
BENCHMARK(list_and_replace)->Arg(10'000)->Iterations(12)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stint
