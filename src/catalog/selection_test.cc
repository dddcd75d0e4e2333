// The known matches of workloads and GPUs, and the limits.
#include "catalog/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

const ModelFacts& model(std::string_view name) { return *find_model(name); }

Selection pick(const Work& work, const Limits& limits = {}) {
  auto s = select_instances(Catalog::built_in(), work, limits);
  CHECK(s.ok(), "{}", s.error().message);
  return std::move(s).value();
}

std::string gpu_of(const Selection& s) { return s.choices.front().type->gpu_model; }

Limits on(std::string provider) {
  Limits l;
  l.provider = std::move(provider);
  return l;
}

Work serving(std::string_view name, double qps, int64_t ms) {
  Work w = default_work(WorkloadKind::kRealtimeInference, model(name));
  w.qps = qps;
  w.latency_p99 = Duration::milliseconds(ms);
  return w;
}

TEST(Selection, FineTuningBertTakesT4OrA10G) {
  const Work w = default_work(WorkloadKind::kFineTuning, model("bert-base"));
  EXPECT_THAT(gpu_of(pick(w)), AnyOf("T4", "A10G"));
  EXPECT_THAT(gpu_of(pick(w, on("aws"))), AnyOf("T4", "A10G"));
}

TEST(Selection, ServingBertTakesT4OrL4) {
  EXPECT_THAT(gpu_of(pick(serving("bert-base", 500, 50))), AnyOf("T4", "L4"));
  EXPECT_THAT(gpu_of(pick(serving("bert-base", 500, 50), on("aws"))), AnyOf("T4", "L4"));
}

TEST(Selection, VisionOnAHundredThousandImagesTakesOneA10GOrA100) {  // 90 epochs within half a working day
  Work w = default_work(WorkloadKind::kTraining, model("resnet50"));
  w.deadline = Duration::hours(4);
  for (const Limits& limits : {Limits{}, on("aws")}) {
    const Selection s = pick(w, limits);
    EXPECT_THAT(gpu_of(s), AnyOf("A10G", "A10", "A100-40GB", "A100-80GB"));
    EXPECT_EQ(s.choices.front().gpus, 1);
  }
}

TEST(Selection, ServingSevenBillionTakesA10GOrA100) {
  EXPECT_THAT(gpu_of(pick(serving("llama-2-7b", 0.5, 50))), AnyOf("A10G", "A10", "A100-40GB", "A100-80GB"));
  const Selection aws = pick(serving("llama-2-7b", 0.5, 50), on("aws"));
  EXPECT_EQ(gpu_of(aws), "A10G");
  const auto l4 =
      std::find_if(aws.dropped.begin(), aws.dropped.end(), [](const Dropped& d) { return d.type->name == "g6.xlarge"; });
  ASSERT_NE(l4, aws.dropped.end()) << "the L4 is cheaper and must be accounted for";
  EXPECT_THAT(l4->reason, HasSubstr("ms a token"));
}

TEST(Selection, TrainingBillionsTakesManyLinkedGpus) {
  Work w = default_work(WorkloadKind::kTraining, decoder_of_size(7e9));
  w.deadline = Duration::hours(14 * 24);
  Limits hopper_or_ampere;
  hopper_or_ampere.gpu_models = {"A10G", "L4", "L40S", "T4", "V100-32GB", "A100-40GB", "A100-80GB", "H100-80GB"};
  const Selection s = pick(w, hopper_or_ampere);
  EXPECT_THAT(gpu_of(s), AnyOf("A100-40GB", "A100-80GB", "H100-80GB"));
  EXPECT_GE(s.choices.front().gpus, 8);
  // With every GPU allowed a newer generation may win, but only by being cheaper for the whole job.
  const Selection any = pick(w);
  EXPECT_LE(*any.choices.front().total, *s.choices.front().total);
  EXPECT_GE(any.choices.front().gpus, 8);
}

TEST(Selection, BatchImagesTakeT4AndRealTimeImagesL4) {
  // Images are decoded on the host: a quarter of an L4 (g6f.2xlarge) comes with more processors for the money than a whole T4.
  const Selection batch = pick(default_work(WorkloadKind::kBatchInference, model("resnet50")));
  EXPECT_THAT(gpu_of(batch), AnyOf("T4", "L4"));
  EXPECT_EQ(std::ranges::find(batch.choices, 1, &Choice::gpus_held)->type->gpu_model, "T4") << "of whole GPUs";
  EXPECT_EQ(gpu_of(pick(serving("vit-base", 500, 50), on("aws"))), "L4");
  // Elsewhere a part of a larger GPU may be cheaper, never dearer.
  Limits l4;
  l4.gpu_models = {"L4"};
  const Selection any = pick(serving("vit-base", 500, 50));
  EXPECT_LE(any.choices.front().per_hour, pick(serving("vit-base", 500, 50), l4).choices.front().per_hour);
}

TEST(Selection, EveryChoiceKeepsTheLimits) {
  Limits limits;
  limits.region = "eu";
  limits.budget_per_hour = Money::units(3);
  const Selection s = pick(serving("bert-base", 500, 50), limits);
  for (const Choice& c : s.choices) {
    EXPECT_TRUE(region_in(c.price.region, "eu")) << c.price.region;
    EXPECT_LE(c.per_hour, Money::units(3));
    EXPECT_LE(c.memory_gib_needed, c.memory_gib_usable);
    EXPECT_LE(*c.latency_ms, 50.0);
    EXPECT_GE(c.rate, 500.0);
  }
}

TEST(Selection, DroppedOnesAreCheaperAndSayWhy) {
  Work w = default_work(WorkloadKind::kTraining, decoder_of_size(7e9));
  w.deadline = Duration::hours(24);
  const Selection s = pick(w);
  EXPECT_FALSE(s.dropped.empty());
  for (const Dropped& d : s.dropped) {
    EXPECT_LT(d.per_hour, s.choices.front().per_hour);
    EXPECT_FALSE(d.reason.empty()) << d.type->name;
  }
  EXPECT_LE(*s.choices.front().duration, Duration::hours(24));
}

TEST(Selection, JobsRankByTotalCost) {
  const Selection s = pick(default_work(WorkloadKind::kBatchInference, model("bert-base")));
  for (size_t i = 1; i < s.choices.size(); ++i)
    EXPECT_LE(*s.choices[i - 1].total, *s.choices[i].total);
}

TEST(Selection, NothingFitsIsAnErrorWithTheNearestMisses) {
  Limits limits;
  limits.budget_per_hour = *Money::parse("0.1");
  const auto s = select_instances(Catalog::built_in(), serving("bert-base", 500, 50), limits);
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message,
              HasSubstr("nearest: Standard_NC4as_T4_v3: budget: 0.53 USD"));  // with g4dn.xlarge the cheapest that would do
  limits = {};
  limits.region = "mars";
  EXPECT_THAT(select_instances(Catalog::built_in(), serving("bert-base", 500, 50), limits).error().message, HasSubstr("in mars"));
}

// 0.202 USD an hour: an eighth of an L4 with 2.8 GiB.
TEST(Selection, ASmallServiceTakesAPartOfAGpu) {
  Limits cheap;
  cheap.budget_per_hour = Money::nanos(300'000'000);
  const Selection s = pick(serving("bert-base", 5, 100), cheap);
  EXPECT_EQ(s.choices.front().type->name, "g6f.large");
  EXPECT_EQ(s.choices.front().gpus_held(), 0.125);
  EXPECT_THAT(s.notes, testing::Contains(HasSubstr("a part of a GPU")));
}

// An eighth of the arithmetic, an eighth of the requests.
TEST(Selection, APartOfAGpuHasThatPartOfItsSpeed) {
  Limits l4 = on("aws");
  l4.gpu_models = {"L4"};
  const Selection s = pick(serving("bert-base", 5, 1000), l4);
  const auto rate = [&s](std::string_view type) {
    const auto found = std::ranges::find(s.choices, type, [](const Choice& c) { return c.type->name; });
    CHECK(found != s.choices.end() && found->instances == 1, "{}", type);
    return found->rate;
  };
  EXPECT_NEAR(rate("g6f.4xlarge") / rate("g6f.2xlarge"), 2, 0.1);
  EXPECT_LT(rate("g6f.large"), rate("g6.xlarge") / 7);
}

TEST(Selection, SeventyBillionIsSplitOverGpus) {
  const Selection s = pick(serving("llama-3-70b", 0.5, 50));
  EXPECT_GT(static_cast<double>(s.choices.front().gpus) * s.choices.front().type->gpu_memory.to_gibi(),
            131);  // 141 GB of weights
}

TEST(Selection, TheLeastPriceOfAGpuIsItsPartOfTheCheapestInstance) {
  const auto catalog = Catalog::parse(
      "model,aliases,vendor,architecture,memory_gib,memory_bandwidth_gb_s,fp32_tflops,tf32_tflops,fp16_tflops,bf16_tflops,fp8_"
      "tflops,"
      "int8_tops,tdp_w,link_gb_s,mig,source,as_of\n"
      "L4,,NVIDIA,Ada,24,300,30,,,,,,72,,no,test,2026-01-01\nT4,,NVIDIA,Turing,16,300,8,,,,,,70,,no,test,2026-01-01\n",
      "provider,instance_type,gpu_model,gpu_milli,gpu_memory_gib,vcpus,memory_gib,arch,best_for,source,as_of\n"
      "a,four,L4,4000,24,8,32,x86_64,,test,2026-01-01\na,half,L4,500,24,8,32,x86_64,,test,2026-01-01\n"
      "a,one,L4,1000,24,8,32,x86_64,,test,2026-01-01\n",
      "provider,region,instance_type,market,term,payment,per_hour,currency,estimated,source,as_of\n"
      "a,here,four,on-demand,,,4,USD,no,test,2026-01-01\na,here,half,on-demand,,,0.1,USD,no,test,2026-01-01\n"
      "a,here,one,on-demand,,,1.1,USD,no,test,2026-01-01\na,there,four,spot,,,2,USD,no,test,2026-01-01\n"
      "a,there,one,on-demand,,,0.9,EUR,no,test,2026-01-01\n");
  ASSERT_TRUE(catalog.ok()) << catalog.error().message;
  const auto cheapest = cheapest_gpu(*catalog, *catalog->find_gpu("l4"));
  ASSERT_TRUE(cheapest);
  EXPECT_EQ(cheapest->rate, Rate::per_hour(Money::units(1)));
  EXPECT_EQ(cheapest->type->name, "four");
  EXPECT_EQ(cheapest->region, "here");
  EXPECT_FALSE(cheapest_gpu(*catalog, *catalog->find_gpu("T4")));
}

TEST(Selection, RegionsOfTheEuropeanUnion) {
  for (const char* inside : {"eu-west-1", "eu-central-1", "europe-west4", "westeurope", "swedencentral"})
    EXPECT_TRUE(region_in(inside, "eu")) << inside;
  for (const char* outside : {"us-east-1", "eu-west-2", "europe-west6", "uksouth", "switzerlandnorth"})
    EXPECT_FALSE(region_in(outside, "EU")) << outside;
  EXPECT_TRUE(region_in("us-east-1", "us"));
  EXPECT_TRUE(region_in("us-east-1", ""));
  EXPECT_FALSE(region_in("us-east-1", "us-west"));
}

}  // namespace
}  // namespace stint
