#include "advise/plan/parallelism.h"

#include <gtest/gtest.h>

#include <set>

namespace stint {
namespace {

constexpr double kGb = 1e9;

ParallelJob job_of(double parameters, int64_t batch) {
  return {.model = decoder_of_size(parameters), .precision = Precision::k16Bit, .batch = batch};
}

ParallelCluster cluster_of(std::string_view gpu, int64_t gpus) {
  const GpuFacts& facts = *Catalog::built_in().find_gpu(gpu);
  return {.gpu = facts, .gpus = gpus, .gpus_per_node = 8, .link_gb_s = link_of(facts), .network_gb_s = 50};
}

// Seven links of 128 GB/s in both directions, one to each other GPU of the machine (data sheet).
TEST(Parallelism, AmdGpusReachEachOtherByTheirOwnLinks) {
  const ParallelCluster cluster = cluster_of("MI300X", 8);
  EXPECT_EQ(cluster.link_gb_s, 7 * 128.0 / 2);
  const auto plan = plan_parallelism(job_of(70e9, 64), cluster);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->options.front().setting.shape.pipeline, 1);
}

double states_gb(int sharding) {
  const ParallelJob job = job_of(7.5e9, 64);
  const ParallelMemory m = parallel_memory(
      job, {.shape = {64, 1, 1}, .sharding = sharding, .recompute = Recompute::kLayers, .micro_batch = 1, .micro_batches = 1});
  return (m.weights + m.gradients + m.optimizer) / kGb;
}

// Rajbhandari et al. 2020, figure 1: 7.5 billion parameters, 64 GPUs: 120, 31.4, 16.6 and 1.9 GB.
TEST(Parallelism, ShardingStagesAreThoseOfZero) {
  EXPECT_NEAR(states_gb(0), 120, 0.05);
  EXPECT_NEAR(states_gb(1), 31.4, 0.05);
  EXPECT_NEAR(states_gb(2), 16.6, 0.05);
  EXPECT_NEAR(states_gb(3), 1.9, 0.05);
}

ModelFacts gpt3() {
  ModelFacts m;
  m.name = "gpt-3";
  m.parameters = m.matmul_parameters = 175e9;
  m.layers = 96;
  m.hidden = 12288;
  m.heads = m.kv_heads = 96;
  m.sequence = 2048;
  return m;
}

// Korthikanti et al. 2022, section 5: recomputing attention alone frees 70 % of GPT-3's activations (5as/h = 80 beside 34).
TEST(Parallelism, RecomputingAttentionFreesWhatThePaperSays) {
  const ParallelJob job{.model = gpt3(), .batch = 8};
  ParallelSetting s{.shape = {1, 8, 8}, .micro_batch = 1, .micro_batches = 8};
  const double all = parallel_memory(job, s).activations;
  s.recompute = Recompute::kAttention;
  EXPECT_NEAR(1 - parallel_memory(job, s).activations / all, 80.0 / 114, 1e-9);
  // 8 micro-batches of 12 layers over 8 GPUs: s·b·h·34·96/8 bytes.
  EXPECT_NEAR(parallel_memory(job, s).activations, 2048.0 * 12288 * 34 * 96 / 8, 1);
}

// Narayanan et al. 2021, section 2.2.1: the bubble is (p − 1)/m of the ideal time.
TEST(Parallelism, BubbleIsStagesLessOneOverMicroBatches) {
  const ParallelJob job{.model = gpt3(), .batch = 64};
  const ParallelTime t =
      parallel_time(job, cluster_of("A100-80GB", 64),
                    {.shape = {1, 8, 8}, .recompute = Recompute::kLayers, .micro_batch = 1, .micro_batches = 64});
  EXPECT_NEAR(t.bubble / (t.compute + t.tensor + t.pipeline), 7.0 / 64, 1e-12);
}

// By hand: 96 layers / 8 stages × 6 all-reduces × 2·7/8 × 2·2048·12288 bytes / (0.8 × 300 GB/s), 64 times.
TEST(Parallelism, TensorTrafficIsSixRingsPerRecomputedLayer) {
  const ParallelJob job{.model = gpt3(), .batch = 64};
  const ParallelTime t =
      parallel_time(job, cluster_of("A100-80GB", 64),
                    {.shape = {1, 8, 8}, .recompute = Recompute::kLayers, .micro_batch = 1, .micro_batches = 64});
  EXPECT_NEAR(t.tensor, 64 * 12 * 6 * 1.75 * 2 * 2048.0 * 12288 / (0.8 * 300e9), 1e-9);
}

TEST(Parallelism, EveryFactorisationIsAnsweredOnce) {
  const auto plan = plan_parallelism(job_of(7e9, 512), cluster_of("A100-80GB", 64));
  ASSERT_TRUE(plan.ok());
  std::set<ParallelShape> seen;
  for (const ParallelOption& o : plan->options) {
    EXPECT_EQ(o.setting.shape.data * o.setting.shape.tensor * o.setting.shape.pipeline, 64);
    EXPECT_EQ(o.setting.shape.data * o.setting.micro_batch * o.setting.micro_batches, 512);
    EXPECT_LE(o.memory.total(), plan->usable_bytes);
    EXPECT_TRUE(seen.insert(o.setting.shape).second);
  }
  for (const ParallelRefusal& r : plan->refusals)
    EXPECT_TRUE(seen.insert(r.shape).second) << r.reason;
  EXPECT_EQ(seen.size(), 28U);  // ways to write 2⁶ as an ordered product of three: C(8, 2)
}

/// The least time over all settings of a small case, by looking at each without structure.
double least_by_trying(const ParallelJob& job, const ParallelCluster& c, double usable) {
  double least = 1e300;
  for (int64_t t = 1; t <= c.gpus_per_node; ++t)
    for (int64_t p = 1; p <= c.gpus; ++p) {
      if (c.gpus % (t * p) != 0 || job.model.heads % t != 0 || job.model.layers % p != 0) continue;
      const int64_t d = c.gpus / t / p;
      for (int64_t b = 1; b * d <= job.batch; ++b) {
        if (job.batch % (b * d) != 0) continue;
        for (int z = 0; z < 4; ++z)
          for (int r = 0; r < 3; ++r) {
            if ((p > 1 && z > 1) || (d == 1 && z > 0)) continue;
            const ParallelSetting s{{d, t, p}, z, static_cast<Recompute>(r), b, job.batch / d / b};
            if (parallel_memory(job, s).total() <= usable) least = std::min(least, parallel_time(job, c, s).total());
          }
      }
    }
  return least;
}

TEST(Parallelism, BestIsTheLeastOfAllSettings) {
  for (const double parameters : {1e9, 13e9, 70e9}) {
    const ParallelJob job = job_of(parameters, 192);
    const ParallelCluster c = cluster_of("A100-80GB", 48);
    const auto plan = plan_parallelism(job, c);
    ASSERT_TRUE(plan.ok() && !plan->options.empty());
    EXPECT_DOUBLE_EQ(plan->options.front().time.total(), least_by_trying(job, c, plan->usable_bytes)) << parameters;
  }
}

TEST(Parallelism, SmallModelsAreDataParallelAndLargeOnesAreNot) {
  const auto small = plan_parallelism({.model = *find_model("resnet50"), .batch = 1024}, cluster_of("A100-80GB", 8));
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->options.front().setting.shape, (ParallelShape{8, 1, 1}));
  EXPECT_EQ(small->options.front().setting.sharding, 0);
  // 16 bytes × 70·10⁹ do not fit into 8 × 72 GiB in any way.
  const auto large = plan_parallelism(job_of(70e9, 8), cluster_of("A100-80GB", 8));
  ASSERT_TRUE(large.ok());
  EXPECT_TRUE(large->options.empty());
  EXPECT_GT(large->refusals.front().least_bytes, large->usable_bytes);
}

TEST(Parallelism, OutOfRangeIsAnError) {
  EXPECT_FALSE(plan_parallelism(job_of(7e9, 0), cluster_of("A100-80GB", 8)).ok());
  EXPECT_FALSE(plan_parallelism(job_of(7e9, 8), cluster_of("A100-80GB", 0)).ok());
  ParallelCluster slow = cluster_of("A100-80GB", 16);
  slow.network_gb_s = 0;
  EXPECT_FALSE(plan_parallelism(job_of(7e9, 16), slow).ok());
}

}  // namespace
}  // namespace stint
