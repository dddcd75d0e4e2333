#include "sim/story.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text.h"
#include "catalog/catalog.h"
#include "sim/story_bill.h"
#include "sim/story_build.h"
#include "sim/story_tables.h"
#include "sim/story_telemetry.h"
#include "sim/story_trace.h"

namespace stint {
namespace {

constexpr uint64_t kSeed = 1;

Money sum_of(const std::vector<StoryBillLine>& lines) {
  Money sum;
  for (const StoryBillLine& line : lines)
    sum += line.amount;
  return sum;
}

uint64_t fingerprint(const Story& story, uint64_t seed) {
  Fnv1a hash;
  for (const StoryFile& file : files_of(story, seed)) {
    hash.update(file.path);
    file.write([&](std::string_view piece) { hash.update(piece); });
  }
  return hash.digest();
}

Money money_of(const Story& story, std::string_view name_prefix) {
  Money sum;
  for (const StoryNode& node : story.nodes)
    if (node.node.name.starts_with(name_prefix))
      for (const Interval present : node.present)
        sum += node.node.rate->over(present.length());
  return sum;
}

std::string text_of(const std::function<void(const TextOut&)>& write) {
  std::string text;
  write([&](std::string_view piece) { text += piece; });
  return text;
}

TEST(AgencyStory, BillIs47000ToTheNanoDollar) {
  for (const uint64_t seed : {kSeed, uint64_t{7}})
    EXPECT_EQ(sum_of(bill_lines(agency_story(seed), "")), Money::units(47'000));
}

TEST(AgencyStory, ComputeIsTheTableAtTheHeadOfTheFile) {
  const Story story = agency_story(kSeed);
  EXPECT_EQ(money_of(story, "train-aws").to_decimal(), "16336.485648");
  EXPECT_EQ(money_of(story, "gke-serve").to_decimal(), "10932.00864");
  EXPECT_EQ(money_of(story, "gke-tune").to_decimal(), "2586.06304");
  EXPECT_EQ(money_of(story, "gke-notebook").to_decimal(), "2733.00216");
  EXPECT_EQ(money_of(story, "aks-serve").to_decimal(), "5465.424");
  EXPECT_EQ(money_of(story, "azure-batch").to_decimal(), "5465.424");
  EXPECT_EQ(compute_cost(story).to_decimal(), "43518.407488");
}

TEST(AgencyStory, MeanUtilisationIs23Percent) {
  for (const uint64_t seed : {kSeed, uint64_t{7}}) {
    const Story story = agency_story(seed);
    const StoryTrace trace(story, seed);
    EXPECT_NEAR(mean_utilization_pct(story, trace, StoryNodes::kAll), 23, 0.3);
    // Steering is a touch, not the story: the loads as designed are close already.
    EXPECT_NEAR(trace.steering(), 1, 0.25);
  }
}

TEST(AgencyStory, MonthAfterIsTheSameFleetWithItsBatchMachineOffByDay) {
  const Story october = agency_story(kSeed), november = agency_month_after(kSeed);
  ASSERT_EQ(november.nodes.size(), october.nodes.size());
  for (size_t n = 0; n < october.nodes.size(); ++n) {
    EXPECT_EQ(november.nodes[n].node.resource_id, october.nodes[n].node.resource_id);
    EXPECT_EQ(november.nodes[n].gpus[0].uuid, october.nodes[n].gpus[0].uuid);
  }
  EXPECT_EQ(money_of(november, "azure-batch").to_decimal(), "1763.04");     // 30 nights of 8 h at 7.346
  EXPECT_EQ(money_of(november, "gke-notebook").to_decimal(), "2644.8408");  // 720 h at 3.67339
  EXPECT_EQ(sum_of(bill_lines(november, "")), november.bill);
  // The same work: loads are multiplied as in October, to a hundredth.
  for (const uint64_t seed : {kSeed, uint64_t{7}})
    EXPECT_NEAR(StoryTrace(agency_month_after(seed), seed).steering() / StoryTrace(agency_story(seed), seed).steering(), 1, 0.01);
  std::set<std::string> jobs;
  for (const auto& run : october.runs)
    jobs.insert(run.id);
  for (const auto& run : november.runs)
    EXPECT_TRUE(jobs.insert(run.id).second) << run.id;
}

TEST(AgencyStory, BillsHardlyNameAClient) {
  const Story story = agency_story(kSeed);
  int tagged = 0;
  for (const StoryNode& node : story.nodes)
    tagged += !tenant_from_tags(node.bill_tags).client.empty();
  EXPECT_EQ(tagged, 1);
  std::set<std::string> clients;
  for (const TenantRule& rule : story.rules)
    clients.insert(rule.tenant.client);
  EXPECT_EQ(clients, (std::set<std::string>{"aurora", "birch", "cobalt", "delta", "ember", "internal"}));
}

TEST(PlatformStory, BillIs200000ToTheNanoDollar) {
  for (const uint64_t seed : {kSeed, uint64_t{7}})
    EXPECT_EQ(sum_of(bill_lines(platform_story(seed), "")), Money::units(200'000));
}

TEST(PlatformStory, ComputeIsTheTableAtTheHeadOfTheFile) {
  const Story story = platform_story(kSeed);
  EXPECT_EQ(money_of(story, "serve").to_decimal(), "81682.42824");
  EXPECT_EQ(money_of(story, "lab").to_decimal(), "45532.8");
  EXPECT_EQ(money_of(story, "train").to_decimal(), "32672.971296");
  EXPECT_EQ(money_of(story, "eval").to_decimal(), "15809.50224");
  EXPECT_EQ(money_of(story, "hub").to_decimal(), "6829.92");
  EXPECT_EQ(compute_cost(story).to_decimal(), "182527.621776");
}

TEST(PlatformStory, FortyServingGpusAtTwentyPercent) {
  const Story story = platform_story(kSeed);
  int64_t gpus = 0;
  for (const StoryNode& node : story.nodes)
    gpus += node.steered ? node.node.gpu_count : 0;
  EXPECT_EQ(gpus, 40);
  const StoryTrace trace(story, kSeed);
  EXPECT_NEAR(mean_utilization_pct(story, trace, StoryNodes::kSteered), 20, 0.1);
  EXPECT_NEAR(trace.steering(), 1, 0.25);
}

TEST(PlatformStory, ExperimentsUseOneGpuOfFour) {
  const Story story = platform_story(kSeed);
  for (const StoryNode& node : story.nodes) {
    if (node.node.instance_type != "p3.8xlarge") continue;
    ASSERT_EQ(node.gpus.size(), 4U);
    EXPECT_FALSE(node.gpus[0].holds.empty());
    for (size_t g = 1; g < 4; ++g)
      EXPECT_TRUE(node.gpus[g].holds.empty()) << node.node.name;
  }
}

TEST(PlatformStory, EvaluationWorksEightHoursOfTwentyFour) {
  const Story story = platform_story(kSeed);
  const StoryTrace trace(story, kSeed);
  int64_t present_hours = 0, busy = 0, seen = 0;
  for (size_t n = 0; n < story.nodes.size(); ++n) {
    if (story.nodes[n].node.kind != WorkloadKind::kEvaluation) continue;
    for (const Interval i : story.nodes[n].present)
      present_hours += i.length().whole_seconds() / 3600;
    for (const StoryReading& r : trace.of(n, 0))
      if (r.present) ++seen, busy += r.utilization > 0;
  }
  EXPECT_EQ(present_hours, 6 * 5 * 24);  // six machines, five Saturdays
  EXPECT_NEAR(static_cast<double>(busy) / static_cast<double>(seen), 8.0 / 24, 0.01);
}

TEST(Stories, HoldsOfAGpuNeverOverlap) {
  for (const Story& story : {agency_story(kSeed), platform_story(kSeed)})
    for (const StoryNode& node : story.nodes)
      for (const StoryGpu& gpu : node.gpus) {
        int64_t free_from = 0;
        for (const StoryHold& hold : gpu.holds) {
          EXPECT_GE(hold.begin, free_from) << node.node.name;
          EXPECT_GT(hold.end, hold.begin);
          EXPECT_LE(hold.end, story.steps());
          free_from = hold.end;
        }
      }
}

TEST(Stories, SameSeedSameBytesOtherSeedOtherBytes) {
  EXPECT_EQ(fingerprint(agency_story(kSeed), kSeed), fingerprint(agency_story(kSeed), kSeed));
  EXPECT_NE(fingerprint(agency_story(kSeed), kSeed), fingerprint(agency_story(2), 2));
}

TEST(Stories, MissingIsAbsentAndADeadExporterLeavesAHole) {
  const Story story = agency_story(kSeed);
  const StoryTrace trace(story, kSeed);
  for (size_t n = 0; n < story.nodes.size(); ++n) {
    int64_t expected = 0, seen = 0;
    for (const Interval i : story.nodes[n].present)
      expected += i.length().count_ns() / kStoryStep.count_ns();
    const int64_t silent = story.nodes[n].silent.length().count_ns() / kStoryStep.count_ns();
    for (const StoryReading& r : trace.of(n, 0))
      seen += r.present;
    EXPECT_LT(seen, expected - silent);               // some scrapes are lost
    EXPECT_GT(seen, (expected - silent) * 98 / 100);  // but few
  }
}

TEST(Stories, SlurmListsEveryJobOnceAndItsBatchStep) {
  const Story story = platform_story(kSeed);
  const std::string text = text_of([&](const TextOut& out) { write_sacct(story, out); });
  size_t jobs = 0, steps = 0;
  for (const std::string_view line : split(trim(text), '\n')) {
    EXPECT_EQ(split(line, '|').size(), 15U) << line;
    (line.substr(0, line.find('|')).ends_with(".batch") ? steps : jobs) += 1;
  }
  EXPECT_EQ(jobs, story.runs.size() + 1);  // and the header
  EXPECT_EQ(steps, story.runs.size());
  EXPECT_NE(text.find("|eval-[1-6]|"), std::string::npos);
  EXPECT_NE(text.find("|1-00:00:00|"), std::string::npos);
}

TEST(Stories, RatesAreTheCataloguesListPrices) {
  const Catalog& catalog = Catalog::built_in();
  for (const Story& story : {agency_story(kSeed), platform_story(kSeed)})
    for (const StoryNode& made : story.nodes) {
      const Node& node = made.node;
      const auto price = catalog.price({node.provider, node.instance_type, node.region});
      ASSERT_TRUE(price.ok()) << price.error().message;
      EXPECT_EQ(price->rate, *node.rate) << node.instance_type;
      const InstanceType* type = catalog.find_instance(node.provider, node.instance_type);
      ASSERT_NE(type, nullptr) << node.instance_type;
      EXPECT_EQ(type->whole_gpus(), node.gpu_count);
      EXPECT_EQ(type->vcpus, node.vcpus);
      EXPECT_EQ(type->gpu_model, node.gpu_model);
    }
}

}  // namespace
}  // namespace stint
