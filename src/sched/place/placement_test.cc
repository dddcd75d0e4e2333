// Scores of the policies by hand, and the index against looking at every node.
#include <gtest/gtest.h>

#include "base/prng.h"
#include "sched/place/placement_index.h"

namespace stint::sched {
namespace {

NodeRecord fresh(int gpus, int64_t cpu_milli) {
  NodeRecord node{.cpu_milli = cpu_milli,
                  .cpu_free = cpu_milli,
                  .memory_bytes = 1 << 20,
                  .memory_free = 1 << 20,
                  .gpus = static_cast<int16_t>(gpus),
                  .whole_free = static_cast<int16_t>(gpus),
                  .milli_free = gpus * kMilli,
                  .model = 0,
                  .tasks_free = 1000};
  std::fill_n(node.gpu_free.begin(), gpus, int16_t{kMilli});
  return node;
}

const PlacementShape kHalf{.cpu_milli = 8'000, .milli = 500};
const PlacementShape kTwo{.cpu_milli = 8'000, .gpus = 2};

int32_t score(Placement policy, const NodeRecord& node, const PlacementShape& shape) {
  return PlacementScorer(policy).score(node, shape);
}

TEST(PlacementScore, NothingFitsWhereSomethingLacks) {
  const NodeRecord node = fresh(2, 16'000);
  for (const Placement p :
       {Placement::kFirstFit, Placement::kBestFit, Placement::kSpread, Placement::kDotProduct, Placement::kPacking,
        Placement::kClustering, Placement::kRandom, Placement::kFgd, Placement::kStint}) {
    EXPECT_GE(score(p, node, kTwo), 0) << name_of(p);
    EXPECT_EQ(score(p, node, {.gpus = 3}), kNoFit) << name_of(p);
    EXPECT_EQ(score(p, node, {.cpu_milli = 16'001}), kNoFit) << name_of(p);
    EXPECT_EQ(score(p, node, {.memory_bytes = (1 << 20) + 1}), kNoFit) << name_of(p);
    EXPECT_EQ(score(p, node, {.gpus = 1, .models = 2}), kNoFit) << name_of(p);
    NodeRecord drained = node;
    drained.usable = false;
    EXPECT_EQ(score(p, drained, kTwo), kNoFit) << name_of(p);
  }
}

TEST(PlacementScore, BestFitLeavesLeast) {
  EXPECT_GT(score(Placement::kBestFit, fresh(2, 96'000), kTwo), score(Placement::kBestFit, fresh(8, 96'000), kTwo));
  // 100 − ½·(88 of 128 CPU) − ½·(6 of 8 GPU) = 28.1 per cent; with nothing left 100.
  EXPECT_EQ(score(Placement::kBestFit, fresh(2, 8'000), kTwo) - score(Placement::kBestFit, fresh(8, 96'000), kTwo), 100 - 28);
}

TEST(PlacementScore, PackingPrefersGpusThenNodesInUse) {
  NodeTable nodes;
  const NodeId shared = nodes.add(fresh(8, 96'000));
  const NodeId used = nodes.add(fresh(8, 96'000));
  const NodeId idle = nodes.add(fresh(8, 96'000));
  nodes.take(shared, {.gpus = 1, .milli = 300});
  nodes.take(used, {.gpus = 1});
  EXPECT_EQ(score(Placement::kPacking, nodes[shared], kHalf), 100 - 7);
  EXPECT_EQ(score(Placement::kPacking, nodes[used], kHalf), 49);
  EXPECT_EQ(score(Placement::kPacking, nodes[idle], kHalf), 33 - 8);
  EXPECT_EQ(score(Placement::kPacking, nodes[used], kTwo), 48);
}

TEST(PlacementScore, ClusteringKeepsKindsTogether) {
  NodeTable nodes;
  const NodeId halves = nodes.add(fresh(8, 96'000));
  const NodeId mixed = nodes.add(fresh(8, 96'000));
  const NodeId pairs = nodes.add(fresh(8, 96'000));
  const NodeId idle = nodes.add(fresh(8, 96'000));
  nodes.take(halves, {.gpus = 1, .milli = 500});
  nodes.take(mixed, {.gpus = 1, .milli = 500});
  nodes.take(mixed, {.gpus = 6});
  nodes.take(pairs, {.gpus = 3});
  const auto at = [&](NodeId n) { return score(Placement::kClustering, nodes[n], kHalf); };
  EXPECT_GT(at(halves), at(mixed));
  EXPECT_GT(at(mixed), at(idle));
  EXPECT_GT(at(idle), at(pairs));
  nodes.give_back(pairs, {.gpus = 3});
  EXPECT_EQ(at(pairs), at(idle));
}

TEST(PlacementScore, FgdWithoutGainIsInTheMiddle) { EXPECT_EQ(score(Placement::kFgd, fresh(8, 96'000), kTwo), 50); }

TEST(PlacementScore, StintSparesCpuBesideIdleGpus) {
  PlacementScorer scorer(Placement::kStint);
  const std::vector<ShapeCount> mix = {{{.cpu_milli = 12'000, .gpus = 1}, 100}};
  scorer.expect(mix);
  // 16 CPU leave 8 GPUs with CPU for 6.7, but 2 GPUs of a node with 104 CPU lose nothing.
  const PlacementShape cpu_only{.cpu_milli = 16'000};
  EXPECT_GT(scorer.score(fresh(2, 104'000), cpu_only), scorer.score(fresh(8, 96'000), cpu_only));
}

/// The definition of PlacementIndex::best for policies that do not draw.
std::optional<NodeId> by_looking_at_all(const NodeTable& nodes, const PlacementScorer& scorer, const PlacementShape& shape,
                                        std::span<const uint64_t> allowed) {
  std::optional<NodeId> best;
  int32_t best_score = kNoFit;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (!allowed.empty() && (n / 64 >= allowed.size() || (allowed[n / 64] >> n % 64 & 1) == 0)) continue;
    const int32_t s = scorer.score(nodes[NodeId(n)], shape);
    if (s <= best_score) continue;
    best_score = s;
    best = NodeId(n);
  }
  return best;
}

class PlacementIndexTest : public testing::TestWithParam<Placement> {};

TEST_P(PlacementIndexTest, FindsWhatLookingAtEveryNodeFinds) {
  constexpr uint64_t kSeed = 11;
  SCOPED_TRACE(kSeed);
  Prng random(kSeed);
  NodeTable nodes;
  for (int n = 0; n < 150; ++n)
    nodes.add(fresh(1 << random.below(4), 96'000));
  std::vector<PlacementShape> shapes;
  std::vector<ShapeCount> mix;
  for (int s = 0; s < 12; ++s) {
    PlacementShape shape{.cpu_milli = static_cast<int64_t>(random.below(20) * 1000)};
    if (s % 3 == 1) shape.gpus = static_cast<int16_t>(1 + random.below(3));
    if (s % 3 == 2) shape.milli = static_cast<int16_t>(100 + random.below(900));
    shapes.push_back(shape);
    mix.push_back({shape, static_cast<int64_t>(1 + random.below(9))});
  }
  const std::vector<uint64_t> some = {0x00ff00ff00ff00ff, 0xffff0000ffff0000};  // none from node 128 on
  PlacementIndex index(GetParam(), 0, 150 * sizeof(int32_t) * 7);               // room for 7 of 12 requests
  index.expect(mix);
  struct Held {
    NodeId node;
    Take take;
  };
  std::vector<Held> held;
  for (int step = 0; step < 1500; ++step) {
    const auto s = static_cast<uint32_t>(random.below(shapes.size()));
    const std::span<const uint64_t> allowed = s % 4 == 0 ? std::span(some) : std::span<const uint64_t>();
    const auto found = index.best(nodes, RequestId(s), shapes[s], allowed);
    const auto expected = by_looking_at_all(nodes, index.scorer(), shapes[s], allowed);
    ASSERT_EQ(found.has_value(), expected.has_value()) << step;
    if (found) {
      ASSERT_EQ(found->node, *expected) << step;
      const Take take{.gpus = found->gpus, .milli = shapes[s].milli, .cpu_milli = shapes[s].cpu_milli};
      nodes.take(found->node, take);
      held.push_back({found->node, take});
    }
    if (held.size() > 200 || (!found && !held.empty())) {
      const size_t h = random.below(held.size());
      nodes.give_back(held[h].node, held[h].take);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(h));
    }
    if (step == 700) nodes.add(fresh(8, 96'000));
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, PlacementIndexTest,
                         testing::Values(Placement::kFirstFit, Placement::kBestFit, Placement::kSpread, Placement::kDotProduct,
                                         Placement::kPacking, Placement::kClustering, Placement::kFgd, Placement::kStint),
                         [](const auto& p) {
                           std::string name(name_of(p.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(PlacementIndex, RandomDrawsAmongThoseThatFitAndRepeats) {
  NodeTable nodes;
  for (int n = 0; n < 10; ++n)
    nodes.add(fresh(n < 5 ? 1 : 2, 96'000));
  PlacementIndex a(Placement::kRandom, 3);
  PlacementIndex b(Placement::kRandom, 3);
  std::array<int, 10> drawn{};
  for (int i = 0; i < 500; ++i) {
    const auto spot = a.best(nodes, RequestId(0), kTwo);
    ASSERT_TRUE(spot);
    ASSERT_EQ(spot->node, b.best(nodes, RequestId(0), kTwo)->node);
    ++drawn[spot->node.index()];
  }
  for (size_t n = 0; n < 10; ++n)
    EXPECT_EQ(drawn[n] > 0, n >= 5) << n;
}

TEST(PlacementIndex, TakesUpTheMixItSees) {
  NodeTable nodes;
  nodes.add(fresh(8, 96'000));
  nodes.add(fresh(2, 104'000));
  PlacementIndex index(Placement::kStint);
  const PlacementShape cpu_only{.cpu_milli = 16'000};
  EXPECT_EQ(index.best(nodes, RequestId(0), cpu_only)->node, NodeId(0));  // nothing known: the first
  index.observe({.cpu_milli = 12'000, .gpus = 1}, 10);
  EXPECT_EQ(index.best(nodes, RequestId(0), cpu_only)->node, NodeId(1));
}

}  // namespace
}  // namespace stint::sched
