// The platform: one company's machine learning on AWS, 200,000.00 USD in October 2026 (744 hours), all on demand.
//
//   | machines         | type                       | n | hours | USD/hour  |            USD |
//   |------------------|----------------------------|---|-------|-----------|----------------|
//   | serve-1…5        | p4d.24xlarge (8 × A100)    | 5 |   744 | 21.957642 |  81,682.428240 |
//   | lab-1…5          | p3.8xlarge (4 × V100)      | 5 |   744 | 12.24     |  45,532.800000 |
//   | train-1…2        | p4d.24xlarge               | 2 |   744 | 21.957642 |  32,672.971296 |
//   | eval-1…6         | p4d.24xlarge               | 6 |   120 | 21.957642 |  15,809.502240 |
//   | hub-1…3          | p3.2xlarge (1 × V100)      | 3 |   744 |  3.06     |   6,829.920000 |
//   | compute          |                            |   |       |           | 182,527.621776 |
//   | storage, transfer | six lines at list price   |   |       |           |  11,685.000000 |
//   | AWS support      | the balance                |   |       |           |   5,787.378224 |
//   | the month        |                            |   |       |           | 200,000.000000 |
//
// serve: 40 A100, one pod each, steered to 20 % mean utilisation. lab: machines of four GPUs for experiments that use
// one. train: gangs of 16 GPUs under Slurm. eval: the weekly evaluation, on Saturdays; the work takes 8 hours, the
// reservation and the machines last 24 (five Saturdays: 120 hours each). hub: notebooks. Prices: on-demand list,
// us-east-1 (catalog/prices.csv); storage and transfer at AWS's public list prices of 2026.
#include "sim/story_build.h"

namespace stint {
namespace {

const Rate kP3Large = Rate::per_hour(Money::nanos(12'240'000'000));
const Rate kP3Small = Rate::per_hour(Money::nanos(3'060'000'000));

const StoryType kEightA100 = {"aws", "us-east-1", "p4d.24xlarge", "A100-40GB", "NVIDIA A100-SXM4-40GB", 8, 40960,
                              400,   96,          1152,           p4d_rate()};
const StoryType kFourV100 = {"aws", "us-east-1", "p3.8xlarge", "V100-16GB", "Tesla V100-SXM2-16GB", 4, 16384,
                             300,   32,          244,          kP3Large};
const StoryType kOneV100 = {"aws", "us-east-1", "p3.2xlarge", "V100-16GB", "Tesla V100-SXM2-16GB", 1, 16384,
                            300,   8,           61,           kP3Small};

struct Service {
  const char* ns;
  const char* deployment;
  const char* product;  ///< who pays
  size_t replicas;
  double quiet_pct, busy_pct;
  int peak_hour_utc;
  int64_t memory_mib;
};

void add_serving(Story& story, Prng& prng) {
  const Service services[] = {
      {"ranking", "ranker", "storefront", 16, 8, 36, 19, 13500},
      {"embeddings", "embedder", "search", 10, 6, 30, 17, 9800},
      {"assistant", "llm-7b", "assistant", 8, 9, 42, 16, 18300},
      {"vision", "image-tagger", "catalogue", 6, 4, 22, 14, 7400},
  };
  std::vector<size_t> gpu_owners;
  for (const Service& service : services) {
    StoryWork work;
    work.holder = {service.ns, service.deployment, "server", "", "", "", ""};
    work.tenant = {service.product, "", "", "production", service.deployment};
    work.kind = WorkloadKind::kRealtimeInference;
    work.rhythm = Rhythm::kDaily;
    work.quiet_pct = service.quiet_pct;
    work.busy_pct = service.busy_pct;
    work.peak_hour_utc = service.peak_hour_utc;
    work.memory_mib = service.memory_mib;
    work.dram_per_util = 0.5;
    gpu_owners.insert(gpu_owners.end(), service.replicas, add_work(story, work));
  }
  for (size_t i = 0; i < gpu_owners.size(); ++i) {
    if (i % 8 == 0) {
      const size_t node = add_node(story, kEightA100, fmt::format("serve-{}", i / 8 + 1), StoryTelemetry::kPrometheus, prng);
      story.nodes[node].node.kind = WorkloadKind::kRealtimeInference;
      story.nodes[node].bill_tags = {{"environment", "production"}, {"team", "serving"}};
    }
    hold_all_month(story, story.nodes.size() - 1, i % 8, gpu_owners[i], prng);
  }
}

void add_experiments(Story& story, Prng& prng) {
  const char* teams[] = {"ranking-research", "vision-research", "speech-research", "nlp-research", "ads-research"};
  for (size_t i = 0; i < std::size(teams); ++i) {
    const size_t node = add_node(story, kFourV100, fmt::format("lab-{}", i + 1), StoryTelemetry::kNvidiaSmi, prng);
    StoryWork work;
    work.tenant = {"research", "", teams[i], "development", "experiments"};
    work.kind = WorkloadKind::kTraining;
    work.busy_pct = 62 + 5 * static_cast<double>(i % 3);
    work.memory_mib = 9600 + 1100 * static_cast<int64_t>(i);
    story.nodes[node].node.tenant = work.tenant;
    story.nodes[node].node.kind = work.kind;
    story.nodes[node].node.checkpointable = true;
    story.nodes[node].steered = false;
    story.nodes[node].bill_tags = {{"team", teams[i]}};
    schedule(story, {{node}, {0}, {add_work(story, work)}, 4, 16, 6, 8, false}, prng.fork(200 + i));
    if (i == 3) story.nodes[node].silent = {story.period.begin + kHour * 402, story.period.begin + kHour * 416};
  }
}

StoryWork slurm_work(const std::string& account, const std::string& user, const std::string& product, const std::string& name,
                     WorkloadKind kind, double busy_pct, int64_t memory_mib) {
  StoryWork work;
  work.holder.account = account;
  work.holder.user = user;
  work.tenant = {product, "", "", kind == WorkloadKind::kEvaluation ? "evaluation" : "training", name};
  work.kind = kind;
  work.busy_pct = busy_pct;
  work.memory_mib = memory_mib;
  work.tensor_per_util = 0.4;
  return work;
}

void add_platform_training(Story& story, Prng& prng) {
  std::vector<size_t> nodes;
  for (int i = 1; i <= 2; ++i) {
    nodes.push_back(add_node(story, kEightA100, fmt::format("train-{}", i), StoryTelemetry::kPrometheus, prng));
    story.nodes[nodes.back()].node.kind = WorkloadKind::kTraining;
    story.nodes[nodes.back()].node.checkpointable = true;
    story.nodes[nodes.back()].steered = false;
    story.nodes[nodes.back()].bill_tags = {{"environment", "training"}};
  }
  const size_t ranker =
      add_work(story, slurm_work("rank-prod", "hana", "storefront", "train-ranker", WorkloadKind::kTraining, 78, 33900));
  const size_t chat =
      add_work(story, slurm_work("chat-prod", "ivo", "assistant", "train-llm-7b", WorkloadKind::kTraining, 84, 37600));
  schedule(story, {nodes, {0, 1, 2, 3, 4, 5, 6, 7}, {ranker, chat}, 18, 60, 12, 0, true}, prng.fork(301));
}

void add_evaluation(Story& story, Prng& prng) {
  std::vector<Interval> saturdays;
  for (int64_t day = 0; day < 31; ++day) {
    const Instant midnight = story.period.begin + kHour * (24 * day);
    if (weekday(midnight) == 5) saturdays.push_back({midnight, midnight + kHour * 24});
  }
  std::vector<size_t> nodes;
  for (int i = 1; i <= 6; ++i) {
    nodes.push_back(add_node(story, kEightA100, fmt::format("eval-{}", i), StoryTelemetry::kPrometheus, prng));
    story.nodes[nodes.back()].node.kind = WorkloadKind::kEvaluation;
    story.nodes[nodes.back()].present = saturdays;
    story.nodes[nodes.back()].steered = false;
    story.nodes[nodes.back()].bill_tags = {{"environment", "evaluation"}};
  }
  const size_t suite =
      add_work(story, slurm_work("quality", "lena", "quality", "eval-weekly", WorkloadKind::kEvaluation, 74, 28700));
  for (const Interval day : saturdays) {
    const int64_t begin = (day.begin - story.period.begin).count_ns() / kHour.count_ns();
    schedule_reservation(story, nodes, suite, begin, begin + 24, 8);
  }
}

void add_notebooks(Story& story, Prng& prng) {
  const char* users[] = {"jupyter-amira", "jupyter-chen", "jupyter-piotr"};
  for (size_t i = 0; i < std::size(users); ++i) {
    const size_t node = add_node(story, kOneV100, fmt::format("hub-{}", i + 1), StoryTelemetry::kDcgmText, prng);
    StoryWork work;
    work.holder = {"jupyterhub", users[i], "notebook", "", "", "", ""};
    work.tenant = {"research", "", "", "development", "notebooks"};
    work.kind = WorkloadKind::kNotebook;
    work.rhythm = Rhythm::kInteractive;
    work.busy_pct = 38;
    work.memory_mib = 5200 + 900 * static_cast<int64_t>(i);
    story.nodes[node].steered = false;
    story.nodes[node].node.kind = WorkloadKind::kNotebook;
    story.nodes[node].profiled = false;  // an old exporter, without the profiling module
    const size_t held = add_work(story, work);
    story.nodes[node].gpus[0].holds.push_back({held, 0, story.steps(), story.steps(), 1.0, -1});
  }
}

void add_platform_storage_and_transfer(Story& story) {
  add_charges(
      story, "aws", "us-east-1",
      {{"AmazonS3", "Storage", "TimedStorage-ByteHrs", "S3 Standard, first 50 TB", "GB-Mo", 50000, "0.023"},
       {"AmazonS3", "Storage", "TimedStorage-ByteHrs", "S3 Standard, next 450 TB", "GB-Mo", 130000, "0.022"},
       {"AmazonEC2", "Storage", "EBS:VolumeUsage.gp3", "EBS gp3 volumes", "GB-Mo", 40000, "0.08"},
       {"AWSDataTransfer", "Networking", "DataTransfer-Out-Bytes", "Data transfer out, first 10 TB", "GB", 10000, "0.09"},
       {"AWSDataTransfer", "Networking", "DataTransfer-Out-Bytes", "Data transfer out, next 40 TB", "GB", 35000, "0.085"},
       {"AWSDataTransfer", "Networking", "DataTransfer-Regional-Bytes", "Data transfer between zones", "GB", 60000, "0.01"}});
}

void add_platform_rules(Story& story) {
  const std::pair<const char*, const char*> owners[] = {
      {"namespace/ranking", "storefront"}, {"namespace/embeddings", "search"},   {"namespace/assistant", "assistant"},
      {"namespace/vision", "catalogue"},   {"namespace/jupyterhub", "research"}, {"account/rank-prod", "storefront"},
      {"account/chat-prod", "assistant"},  {"account/quality", "quality"},
  };
  for (const auto& [pattern, owner] : owners)
    story.rules.push_back({pattern, {owner, "", "", "", ""}});
}

}  // namespace

Story platform_story(uint64_t seed) {
  Prng prng(seed ^ 0x91a7f0ULL);
  Story story;
  story.name = "platform";
  story.what =
      "One company's machine learning on AWS: 200,000.00 USD in October 2026, everything on demand; 40 A100 serving at 20 % "
      "mean utilisation, four-GPU machines for one-GPU experiments, a weekly evaluation of 8 hours on machines kept 24. "
      "Compute is hours × list price to the nano-dollar; storage and transfer are at list price; the support fee is the "
      "balance that makes the month 200,000.00.";
  story.period = month_of(from_civil({.year = 2026, .month = 10}));
  story.bill = Money::units(200'000);
  story.steer_to_pct = 20;
  add_serving(story, prng);
  add_experiments(story, prng);
  add_platform_training(story, prng);
  add_evaluation(story, prng);
  add_notebooks(story, prng);
  add_platform_storage_and_transfer(story);
  add_balance(story);
  add_platform_rules(story);
  number_runs(story);
  return story;
}

}  // namespace stint
