// What one change of the cluster costs: a task that runs and is gone, outside and inside a trial, and the choice of a node by
// looking at all of them. 1,000 nodes of 8 GPUs.
//
//   build/release/bench/cluster_bench
#include <benchmark/benchmark.h>

#include <vector>

#include "base/prng.h"
#include "sched/place/place_gang.h"

namespace stint::sched {
namespace {

constexpr uint32_t kNodes = 1000;

Cluster make_cluster(uint32_t nodes) {
  Cluster cluster;
  for (uint32_t n = 0; n < nodes; ++n) {
    NodeSpec node;
    node.name = fmt::format("n{}", n);
    node.gpu_model = "A100-80GB";
    node.gpus = 8;
    node.gpu_memory = Bytes::gibi(int64_t{80});
    node.cpu_milli = 128'000;
    node.memory = Bytes::gibi(int64_t{1024});
    node.labels = {{"rack", fmt::format("r{}", n / 16)}};
    cluster.add_node(node);
  }
  return cluster;
}

Request whole(int32_t gpus) {
  Request r;
  r.gpus = gpus;
  r.cpu_milli = 4000;
  return r;
}

/// Tasks of 1 and 8 GPUs at random nodes, in a ring: the oldest is gone when the next comes.
void run_and_gone(benchmark::State& state) {
  Cluster cluster = make_cluster(kNodes);
  Prng prng(1);
  const RequestId request = cluster.intern(whole(static_cast<int32_t>(state.range(0))));
  const size_t held = kNodes / 2;
  std::vector<TaskId> tasks;
  for (size_t i = 0; i < held; ++i)
    tasks.push_back(cluster.add_task(JobId(0), request));
  std::vector<Place> places;
  for (size_t i = 0; i < held; ++i)
    places.push_back(*cluster.fit(request, NodeId(static_cast<uint32_t>((i * 617) % kNodes)), Room::kFree));
  for (size_t i = 0; i < held; ++i)
    cluster.run(tasks[i], places[i]);
  size_t i = 0;
  for (auto _ : state) {
    cluster.gone(tasks[i], TaskState::kPending);
    cluster.run(tasks[i], places[i]);
    i = i + 1 == held ? 0 : i + 1;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(run_and_gone)->Arg(1)->Arg(8)->Name("run+gone/gpus");

void trial(benchmark::State& state) {
  Cluster cluster = make_cluster(kNodes);
  const RequestId request = cluster.intern(whole(1));
  std::vector<TaskId> tasks;
  for (uint32_t n = 0; n < kNodes; ++n) {
    tasks.push_back(cluster.add_task(JobId(0), request));
    cluster.run(tasks.back(), *cluster.fit(request, NodeId(n), Room::kFree));
  }
  size_t i = 0;
  for (auto _ : state) {
    const Cluster::Trial t = cluster.open_trial();
    cluster.leave(tasks[i]);
    cluster.undo(t);
    i = i + 1 == tasks.size() ? 0 : i + 1;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(trial)->Name("trial: leave+undo");

void pick(benchmark::State& state) {
  Cluster cluster = make_cluster(kNodes);
  Prng prng(2);
  const RequestId one = cluster.intern(whole(1));
  for (uint32_t i = 0; i < kNodes * 4; ++i) {
    const auto place = cluster.fit(one, NodeId(static_cast<uint32_t>(prng.below(kNodes))), Room::kFree);
    if (place) cluster.run(cluster.add_task(JobId(0), one), *place);
  }
  const RequestId wanted = cluster.intern(whole(static_cast<int32_t>(state.range(0))));
  for (auto _ : state)
    benchmark::DoNotOptimize(pick_by_rules(cluster, wanted, Room::kFree, Scope{}, PlaceRules{}));
  state.SetItemsProcessed(state.iterations() * kNodes);
}
BENCHMARK(pick)->Arg(1)->Arg(8)->Name("pick by rules, all nodes/gpus");

/// A gang of 16 tasks of 8 GPUs in one rack or anywhere, nominated and taken back.
void gang(benchmark::State& state) {
  Cluster cluster = make_cluster(kNodes);
  const RequestId request = cluster.intern(whole(8));
  std::vector<TaskId> tasks;
  for (int i = 0; i < 16; ++i)
    tasks.push_back(cluster.add_task(JobId(0), request));
  Gang wish;
  if (state.range(0) == 1) wish.topology = {"rack", "", {"rack"}};
  const PickPlace by_rules = [](const Cluster& c, RequestId r, Room room, const Scope& scope) {
    return pick_by_rules(c, r, room, scope, PlaceRules{});
  };
  for (auto _ : state) {
    Attempt attempt(cluster);
    if (!place_gang(cluster, tasks, by_rules, {.gang = &wish, .mates = {}, .now = {}, .within = {}}))
      state.SkipWithError("does not fit");
  }
  state.SetItemsProcessed(state.iterations() * 16);
}
BENCHMARK(gang)->Arg(0)->Arg(1)->Name("gang of 16x8 GPUs/in one rack");

}  // namespace
}  // namespace stint::sched
