#include "sched/place/fragmentation.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/prng.h"

namespace stint::sched {
namespace {

NodeRecord node_with(std::initializer_list<int16_t> idle, int64_t cpu_free, int16_t model = 0) {
  NodeRecord node{.cpu_milli = cpu_free, .cpu_free = cpu_free, .model = model, .tasks_free = 100};
  for (const int16_t milli : idle) {
    node.gpu_free[static_cast<size_t>(node.gpus++)] = milli;
    node.milli_free += milli;
    if (milli == kMilli) ++node.whole_free;
  }
  return node;
}

/// The definition, shape by shape.
int64_t by_definition(const NodeRecord& node, std::span<const ShapeCount> typical) {
  int64_t sum = 0;
  for (const ShapeCount& t : typical) {
    const int32_t share = t.shape.gpus > 0 ? kMilli : t.shape.milli;
    int32_t usable = 0;
    int32_t enough = 0;
    for (int g = 0; g < node.gpus; ++g) {
      if (node.gpu_free[static_cast<size_t>(g)] < share) continue;
      usable += node.gpu_free[static_cast<size_t>(g)];
      ++enough;
    }
    const bool model = (t.shape.models >> node.model & 1) != 0;
    const bool runs =
        t.shape.wants_gpu() && model && t.shape.cpu_milli <= node.cpu_free && enough >= std::max<int>(1, t.shape.gpus);
    sum += t.count * (runs ? node.milli_free - usable : node.milli_free);
  }
  return sum;
}

TEST(Fragmentation, CountsWhatTypicalWorkCannotUse) {
  // 2 of 3 requests want half a GPU, 1 wants two whole ones; the node has 300 and 700 milli idle.
  const std::vector<ShapeCount> typical = {{{.cpu_milli = 1000, .milli = 500}, 2}, {{.cpu_milli = 1000, .gpus = 2}, 1}};
  const Fragmentation fragmentation(typical);
  EXPECT_EQ(fragmentation.requests(), 3);
  EXPECT_EQ(fragmentation.of(node_with({300, 700}, 8000)), 2 * 300 + 1 * 1000);
  EXPECT_EQ(fragmentation.of(node_with({300, 700}, 500)), 3 * 1000);  // no CPU: nothing runs
  EXPECT_EQ(fragmentation.of(node_with({1000, 1000}, 8000)), 0);
}

TEST(Fragmentation, CpuOnlyWorkUsesNoGpu) {
  const std::vector<ShapeCount> typical = {{{.cpu_milli = 1000}, 1}, {{.cpu_milli = 1000, .gpus = 1}, 3}};
  EXPECT_EQ(Fragmentation(typical).of(node_with({1000}, 8000)), 1000);
}

TEST(Fragmentation, NothingExpectedIsNoFragment) {
  std::array<int64_t, kMaxGpusPerNode> by_gpu;
  EXPECT_EQ(Fragmentation().of(node_with({300, 700}, 500)), 0);
  EXPECT_EQ(Fragmentation().gains(node_with({300, 700}, 500), {.milli = 200}, by_gpu), 0);
}

TEST(Fragmentation, TypicalShapesCoverNineteenOfTwenty) {
  // 50 + 45 of 100 are enough; memory alone does not make two shapes.
  const std::vector<ShapeCount> mix = {{{.cpu_milli = 1, .gpus = 1}, 45},
                                       {{.cpu_milli = 2, .memory_bytes = 7, .gpus = 1}, 20},
                                       {{.cpu_milli = 2, .memory_bytes = 9, .gpus = 1}, 30},
                                       {{.cpu_milli = 3, .gpus = 1}, 5}};
  const std::vector<ShapeCount> typical = typical_shapes(mix);
  ASSERT_EQ(typical.size(), 2U);
  EXPECT_EQ(typical[0].count, 50);
  EXPECT_EQ(typical[1].count, 45);
}

TEST(Fragmentation, EqualsItsDefinitionOnRandomNodes) {
  constexpr uint64_t kSeed = 7;
  SCOPED_TRACE(kSeed);
  Prng random(kSeed);
  for (int round = 0; round < 50; ++round) {
    std::vector<ShapeCount> typical;
    for (int s = 0; s < 12; ++s) {
      ShapeCount t{.shape = {.cpu_milli = static_cast<int64_t>(random.below(10) * 1000)},
                   .count = static_cast<int64_t>(1 + random.below(20))};
      const uint64_t kind = random.below(3);
      if (kind == 1) t.shape.gpus = static_cast<int16_t>(1 + random.below(4));
      if (kind == 2) t.shape.milli = static_cast<int16_t>(1 + random.below(999));
      if (random.below(3) == 0) t.shape.models = 1 + random.below(7);
      typical.push_back(t);
    }
    const Fragmentation fragmentation(typical);
    for (int n = 0; n < 20; ++n) {
      const auto idle = [&] { return static_cast<int16_t>(random.below(2) == 0 ? kMilli : random.below(1001)); };
      const NodeRecord node = node_with({idle(), idle(), idle(), idle()}, static_cast<int64_t>(random.below(12) * 1000),
                                        static_cast<int16_t>(random.below(5)));
      ASSERT_EQ(fragmentation.of(node), by_definition(node, typical));
      const PlacementShape part{.cpu_milli = 1000, .milli = 300};
      if (!fits(node, part)) continue;
      std::array<int64_t, kMaxGpusPerNode> by_gpu;
      fragmentation.gains(node, part, by_gpu);
      for (size_t g = 0; g < 4; ++g) {
        const bool room = node.gpu_free[g] >= part.milli;
        ASSERT_EQ(by_gpu[g], room ? fragmentation.gain(node, part, uint64_t{1} << g) : Fragmentation::kImpossible);
      }
    }
  }
}

}  // namespace
}  // namespace stint::sched
