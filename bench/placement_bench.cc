// How long is one placement decision? Full fleets of 1,213 and 10,000 nodes (openb's kinds), 90 kinds of request, steady
// state: every decision places a task and, where the fleet is full, one placed long ago leaves.
//   build/release/bench/placement_bench
#include <benchmark/benchmark.h>

#include <deque>

#include "base/prng.h"
#include "sched/place/placement_index.h"

namespace stint::sched {
namespace {

struct Kind {
  int16_t gpus;
  int64_t cpu_milli;
  int share_pct;
};
// openb: 45 % of the nodes have 8 GPUs and 12 CPU for each, 32 % 2 GPUs and 52 CPU for each, the rest in between.
constexpr std::array<Kind, 4> kKinds = {{{8, 96'000, 45}, {2, 104'000, 32}, {2, 16'000, 9}, {4, 32'000, 14}}};

NodeTable fleet(int64_t nodes, Prng& random) {
  NodeTable table;
  for (int64_t n = 0; n < nodes; ++n) {
    auto draw = static_cast<int>(random.below(100));
    size_t kind = 0;
    while (draw >= kKinds[kind].share_pct)
      draw -= kKinds[kind++].share_pct;
    NodeRecord node{.cpu_milli = kKinds[kind].cpu_milli,
                    .cpu_free = kKinds[kind].cpu_milli,
                    .memory_bytes = int64_t{1} << 40,
                    .memory_free = int64_t{1} << 40,
                    .gpus = kKinds[kind].gpus,
                    .whole_free = kKinds[kind].gpus,
                    .milli_free = kKinds[kind].gpus * kMilli,
                    .model = static_cast<int16_t>(kind),
                    .tasks_free = 1000};
    std::fill_n(node.gpu_free.begin(), node.gpus, int16_t{kMilli});
    table.add(node);
  }
  return table;
}

std::vector<ShapeCount> requests(Prng& random) {
  std::vector<ShapeCount> mix;
  for (int s = 0; s < 90; ++s) {
    PlacementShape shape{.cpu_milli = static_cast<int64_t>(1 + random.below(16)) * 1000};
    const uint64_t kind = random.below(100);
    if (kind < 40)
      shape.milli = static_cast<int16_t>(50 * (1 + random.below(19)));
    else if (kind < 90)
      shape.gpus = static_cast<int16_t>(kind < 80 ? 1 : 1 << random.below(4));
    mix.push_back({shape, static_cast<int64_t>(1 + 2000 / (1 + s))});
  }
  return mix;
}

void decide(benchmark::State& state, Placement policy) {
  constexpr uint64_t kSeed = 5;
  Prng random(kSeed);
  NodeTable nodes = fleet(state.range(0), random);
  const std::vector<ShapeCount> mix = requests(random);
  std::vector<uint32_t> bag;  // a request as often as it is asked for
  for (uint32_t s = 0; s < mix.size(); ++s)
    bag.insert(bag.end(), static_cast<size_t>(mix[s].count), s);
  PlacementIndex index(policy, kSeed);
  index.expect(mix);
  struct Held {
    NodeId node;
    Take take;
  };
  std::deque<Held> held;
  const auto once = [&] {
    const uint32_t s = bag[random.below(bag.size())];
    const auto spot = index.best(nodes, RequestId(s), mix[s].shape);
    if (spot) {
      held.push_back({spot->node, {.gpus = spot->gpus, .milli = mix[s].shape.milli, .cpu_milli = mix[s].shape.cpu_milli}});
      nodes.take(held.back().node, held.back().take);
    } else {
      nodes.give_back(held.front().node, held.front().take);
      held.pop_front();
    }
  };
  for (int64_t i = 0; i < state.range(0) * 12; ++i)
    once();
  for (auto _ : state)
    once();
  state.SetItemsProcessed(state.iterations());
}

void best_fit(benchmark::State& state) { decide(state, Placement::kBestFit); }
void fgd(benchmark::State& state) { decide(state, Placement::kFgd); }
void stint(benchmark::State& state) { decide(state, Placement::kStint); }
BENCHMARK(best_fit)->Arg(1213)->Arg(10'000);
BENCHMARK(fgd)->Arg(1213)->Arg(10'000);
BENCHMARK(stint)->Arg(1213)->Arg(10'000);

}  // namespace
}  // namespace stint::sched
