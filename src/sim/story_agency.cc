// The agency: machine learning for six clients on three providers, 47,000.00 USD in October 2026 (744 hours), and
// it is not recorded which client uses what. Everything runs on on-demand A100s: training, serving, batch and notebooks.
//
//   | machines          | type                             | n | hours | USD/hour  |          USD |
//   |-------------------|----------------------------------|---|-------|-----------|--------------|
//   | train-aws-1       | aws p4d.24xlarge (8 × A100 40GB) | 1 |   744 | 21.957642 | 16,336.485648 |
//   | gke-serve-1…4     | gcp a2-highgpu-1g (1 × A100)     | 4 |   744 |  3.67339  | 10,932.008640 |
//   | gke-tune-1        | gcp a2-highgpu-2g (2 × A100)     | 1 |   352 |  7.34677  |  2,586.063040 |
//   | gke-notebook-1    | gcp a2-highgpu-1g                | 1 |   744 |  3.67339  |  2,733.002160 |
//   | aks-serve-1…2     | azure NC24ads A100 v4 (80GB)     | 2 |   744 |  3.673    |  5,465.424000 |
//   | azure-batch-1     | azure NC48ads A100 v4 (2 × 80GB) | 1 |   744 |  7.346    |  5,465.424000 |
//   | compute           |                                  |   |       |           | 43,518.407488 |
//   | storage, transfer | eight lines at list price        |   |       |           |  2,875.600000 |
//   | AWS support       | the balance                      |   |       |           |    605.992512 |
//   | the month         |                                  |   |       |           | 47,000.000000 |
//
// gke-tune-1 is there on the 22 working days from 06:00 to 22:00 UTC, everything else around the clock: 13,352
// GPU-hours. Prices: on-demand list, us-east-1, us-central1, eastus (catalog/prices.csv); storage and transfer at the
// providers' public list prices of 2026. Utilisation of all samples is steered to 23 %.
#include <algorithm>

#include "sim/story_build.h"

namespace stint {
namespace {

const Rate kA2One = Rate::per_hour(Money::nanos(3'673'390'000));
const Rate kA2Two = Rate::per_hour(Money::nanos(7'346'770'000));
const Rate kNc24 = Rate::per_hour(Money::nanos(3'673'000'000));
const Rate kNc48 = Rate::per_hour(Money::nanos(7'346'000'000));

const StoryType kTrainer = {"aws", "us-east-1", "p4d.24xlarge", "A100-40GB", "NVIDIA A100-SXM4-40GB", 8, 40960,
                            400,   96,          1152,           p4d_rate()};
const StoryType kGcpOne = {"gcp", "us-central1", "a2-highgpu-1g", "A100-40GB", "NVIDIA A100-SXM4-40GB", 1, 40960, 400, 12,
                           85,    kA2One};
const StoryType kGcpTwo = {"gcp", "us-central1", "a2-highgpu-2g", "A100-40GB", "NVIDIA A100-SXM4-40GB", 2, 40960, 400,
                           24,    170,           kA2Two};
const StoryType kAzureOne = {
    "azure", "eastus", "Standard_NC24ads_A100_v4", "A100-80GB", "NVIDIA A100 80GB PCIe", 1, 81920, 300, 24, 220, kNc24};
const StoryType kAzureTwo = {
    "azure", "eastus", "Standard_NC48ads_A100_v4", "A100-80GB", "NVIDIA A100 80GB PCIe", 2, 81920, 300, 48, 440, kNc48};

Tenant client(const std::string& name, const std::string& environment, const std::string& workload) {
  return {name, "", "", environment, workload};
}

/// Slurm accounts are cost-centre numbers: without the rules they say nothing.
StoryWork training(const std::string& account, const std::string& user, const std::string& who, const std::string& name,
                   double busy_pct, int64_t memory_mib) {
  StoryWork work;
  work.holder.account = account;
  work.holder.user = user;
  work.tenant = client(who, "training", name);
  work.kind = WorkloadKind::kTraining;
  work.busy_pct = busy_pct;
  work.memory_mib = memory_mib;
  return work;
}

/// Namespaces are product names: only the rules tell the client.
StoryWork serving(const std::string& ns, const std::string& deployment, const std::string& who, double quiet_pct, double busy_pct,
                  int peak, int64_t memory_mib) {
  StoryWork work;
  work.holder.ns = ns;
  work.holder.pod = deployment;
  work.holder.container = "server";
  work.tenant = client(who, "production", deployment);
  work.kind = WorkloadKind::kRealtimeInference;
  work.rhythm = Rhythm::kDaily;
  work.quiet_pct = quiet_pct;
  work.busy_pct = busy_pct;
  work.peak_hour_utc = peak;
  work.memory_mib = memory_mib;
  work.dram_per_util = 0.5;
  return work;
}

void add_agency_training(Story& story, Prng& prng) {
  const size_t node = add_node(story, kTrainer, "train-aws-1", StoryTelemetry::kNvidiaSmi, prng);
  story.nodes[node].node.kind = WorkloadKind::kTraining;
  story.nodes[node].node.checkpointable = true;
  story.nodes[node].bill_tags = {{"env", "training"}};
  const size_t ranking = add_work(story, training("cc-4410", "mara", "aurora", "train-ranking", 64, 31200));
  const size_t layout = add_work(story, training("cc-4425", "joon", "birch", "train-layout", 70, 27400));
  const size_t dialog = add_work(story, training("cc-4471", "ines", "cobalt", "train-dialog", 80, 36100));
  const size_t frames = add_work(story, training("cc-4488", "tomas", "delta", "train-frames", 56, 22800));
  const size_t speech = add_work(story, training("cc-4502", "ola", "ember", "train-speech", 62, 24600));
  schedule(story, {{node}, {0, 1, 2, 3}, {ranking, dialog, dialog}, 8, 26, 5, 10, true}, prng.fork(101));
  schedule(story, {{node}, {4, 5}, {layout, frames, speech}, 5, 18, 5, 12, true}, prng.fork(102));
  schedule(story, {{node}, {6}, {frames, speech, ranking}, 4, 14, 6, 15, true}, prng.fork(103));
  // The last GPU is used over ssh, beside the queue: active, and without an owner as far as the records go.
  StoryWork beside;
  beside.kind = WorkloadKind::kTraining;
  beside.busy_pct = 50;
  beside.memory_mib = 11800;
  const size_t stray = add_work(story, beside);
  schedule(story, {{node}, {7}, {stray}, 2, 7, 30, 0, false}, prng.fork(104));
}

void add_google(Story& story, Prng& prng) {
  const StoryWork services[] = {
      serving("reco-live", "reco-api", "aurora", 4, 24, 18, 9400),
      serving("claims-ocr", "ocr-server", "birch", 1, 19, 13, 6100),
      serving("helpdesk-llm", "llm-7b", "cobalt", 5, 34, 15, 19600),
      serving("clip-search", "clip-encoder", "delta", 2, 16, 19, 7300),
  };
  for (size_t i = 0; i < std::size(services); ++i) {
    const size_t node = add_node(story, kGcpOne, fmt::format("gke-serve-{}", i + 1), StoryTelemetry::kPrometheus, prng);
    story.nodes[node].node.kind = WorkloadKind::kRealtimeInference;
    hold_all_month(story, node, 0, add_work(story, services[i]), prng);
    if (i == 0) story.nodes[node].bill_tags = {{"client", "aurora"}, {"env", "production"}};
    // One exporter was dead for nine hours unnoticed.
    if (i == 2) story.nodes[node].silent = {story.period.begin + kHour * 311, story.period.begin + kHour * 320};
  }

  const size_t tune = add_node(story, kGcpTwo, "gke-tune-1", StoryTelemetry::kPrometheus, prng);
  story.nodes[tune].node.kind = WorkloadKind::kFineTuning;
  story.nodes[tune].node.checkpointable = true;
  story.nodes[tune].present.clear();
  StoryWork tuning;
  tuning.holder = {"helpdesk-tune", "lora-tune", "trainer", "", "", "", ""};
  tuning.tenant = client("cobalt", "training", "lora-tune");
  tuning.kind = WorkloadKind::kFineTuning;
  tuning.busy_pct = 72;
  tuning.memory_mib = 33800;
  tuning.tensor_per_util = 0.35;
  const size_t work = add_work(story, tuning);
  for (int64_t day = 0; day < story.steps() * kStoryStep.count_ns() / kHour.count_ns() / 24; ++day) {
    const Instant midnight = story.period.begin + kHour * (24 * day);
    if (weekday(midnight) >= 5) continue;
    story.nodes[tune].present.push_back({midnight + kHour * 6, midnight + kHour * 22});
    const int64_t busy = 7 + static_cast<int64_t>(prng.below(5));
    for (const size_t gpu : {0UL, 1UL})
      hold_hours(story, tune, gpu, work, {.begin = 24 * day + 8, .end = 24 * day + 21, .busy = busy});
  }

  const size_t notebook = add_node(story, kGcpOne, "gke-notebook-1", StoryTelemetry::kPrometheus, prng);
  StoryWork lab;
  lab.holder = {"lab", "jupyter-shared", "notebook", "", "", "", ""};
  lab.tenant = client("internal", "development", "notebooks");
  lab.kind = WorkloadKind::kNotebook;
  lab.rhythm = Rhythm::kInteractive;
  lab.busy_pct = 42;
  lab.memory_mib = 14200;
  story.nodes[notebook].node.kind = WorkloadKind::kNotebook;
  hold_all_month(story, notebook, 0, add_work(story, lab), prng);
}

void add_azure(Story& story, Prng& prng) {
  const StoryWork services[] = {
      serving("voice-notes", "asr-server", "ember", 3, 27, 12, 10800),
      serving("doc-qa", "qa-server", "birch", 2, 18, 14, 17900),
  };
  for (size_t i = 0; i < std::size(services); ++i) {
    const size_t node = add_node(story, kAzureOne, fmt::format("aks-serve-{}", i + 1), StoryTelemetry::kDcgmText, prng);
    story.nodes[node].node.kind = WorkloadKind::kRealtimeInference;
    hold_all_month(story, node, 0, add_work(story, services[i]), prng);
  }
  // A virtual machine outside every cluster: its owner stands in the inventory and nowhere else.
  const size_t batch = add_node(story, kAzureTwo, "azure-batch-1", StoryTelemetry::kNvidiaSmi, prng);
  StoryWork nightly;
  nightly.tenant = client("fjord", "production", "load-forecast");
  nightly.kind = WorkloadKind::kBatchInference;
  nightly.rhythm = Rhythm::kNightly;
  nightly.busy_pct = 76;
  nightly.memory_mib = 26500;
  story.nodes[batch].node.tenant = nightly.tenant;
  story.nodes[batch].node.kind = nightly.kind;
  const size_t work = add_work(story, nightly);
  for (StoryGpu& gpu : story.nodes[batch].gpus)
    gpu.holds.push_back({work, 0, story.steps(), story.steps(), 1.0, -1});
}

void add_agency_storage_and_transfer(Story& story) {
  add_charges(story, "aws", "us-east-1",
              {{"AmazonS3", "Storage", "TimedStorage-ByteHrs", "S3 Standard storage", "GB-Mo", 22000, "0.023"},
               {"AmazonEC2", "Storage", "EBS:VolumeUsage.gp3", "EBS gp3 volumes", "GB-Mo", 4000, "0.08"},
               {"AWSDataTransfer", "Networking", "DataTransfer-Out-Bytes", "Data transfer out", "GB", 5200, "0.09"}});
  add_charges(story, "gcp", "us-central1",
              {{"Compute Engine", "Storage", "Storage PD SSD", "SSD persistent disk", "GB-Mo", 3000, "0.17"},
               {"Cloud Storage", "Storage", "Standard Storage", "Standard storage, regional", "GB-Mo", 18000, "0.02"},
               {"Networking", "Networking", "Internet Egress", "Network internet data transfer out", "GB", 2400, "0.12"}});
  add_charges(story, "azure", "eastus",
              {{"Storage Accounts", "Storage", "Hot LRS Data Stored", "Blob storage, hot, LRS", "GB-Mo", 12000, "0.0208"},
               {"Bandwidth", "Networking", "Standard Data Transfer Out", "Data transfer out", "GB", 2000, "0.087"}});
}

void add_agency_rules(Story& story) {
  const std::pair<const char*, const char*> owners[] = {
      {"account/cc-4410", "aurora"},      {"account/cc-4425", "birch"},       {"account/cc-4471", "cobalt"},
      {"account/cc-4488", "delta"},       {"account/cc-4502", "ember"},       {"namespace/reco-live", "aurora"},
      {"namespace/claims-ocr", "birch"},  {"namespace/helpdesk-*", "cobalt"}, {"namespace/clip-search", "delta"},
      {"namespace/voice-notes", "ember"}, {"namespace/doc-qa", "birch"},      {"namespace/lab", "internal"},
  };
  for (const auto& [pattern, owner] : owners)
    story.rules.push_back({pattern, {owner, "", "", "", ""}});
}

/// Everything but the balance and the jobs' numbers.
Story agency_in(uint64_t seed, Interval month) {
  Prng prng(seed ^ 0xa6e7c4ULL);
  Story story;
  story.name = "agency";
  story.period = month;
  add_agency_training(story, prng);
  add_google(story, prng);
  add_azure(story, prng);
  add_agency_storage_and_transfer(story);
  add_agency_rules(story);
  return story;
}

/// The machines of the month before, not others of their names.
void keep_machines(Story& story, const Story& before) {
  for (size_t n = 0; n < story.nodes.size(); ++n) {
    story.nodes[n].node.resource_id = before.nodes[n].node.resource_id;
    for (size_t g = 0; g < story.nodes[n].gpus.size(); ++g)
      story.nodes[n].gpus[g].uuid = before.nodes[n].gpus[g].uuid;
  }
}

/// The machine is there, and held, from 22:00 to 06:00 UTC.
void by_night_alone(Story& story, std::string_view name) {
  const int64_t steps_per_hour = kHour.count_ns() / kStoryStep.count_ns();
  const int64_t hours = story.steps() / steps_per_hour;
  for (StoryNode& node : story.nodes) {
    if (node.node.name != name) continue;
    const size_t work = node.gpus.front().holds.front().work;
    node.present.clear();
    for (StoryGpu& gpu : node.gpus)
      gpu.holds.clear();
    for (int64_t begin = -2; begin < hours; begin += 24) {
      const int64_t from = std::max<int64_t>(begin, 0), to = std::min(begin + 8, hours);
      node.present.push_back({story.period.begin + kHour * from, story.period.begin + kHour * to});
      for (StoryGpu& gpu : node.gpus)
        gpu.holds.push_back({work, from * steps_per_hour, to * steps_per_hour, to * steps_per_hour, 1.0, -1});
    }
  }
}

/// The mean at which the loads are multiplied as in October, to a hundredth: azure-batch-1's idle days are no longer in it.
constexpr double kNovemberUtilisation = 24.4;

}  // namespace

Story agency_story(uint64_t seed) {
  Story story = agency_in(seed, month_of(from_civil({.year = 2026, .month = 10})));
  story.what =
      "Machine learning for six clients on AWS, Google Cloud and Azure: 47,000.00 USD in October 2026, everything on "
      "on-demand A100s, mean utilisation 23 %. Compute is hours × list price to the nano-dollar; storage and transfer are "
      "at list price; the AWS support fee is the balance that makes the month 47,000.00.";
  story.bill = Money::units(47'000);
  story.steer_to_pct = 23;
  add_balance(story);
  number_runs(story);
  return story;
}

Story agency_month_after(uint64_t seed) {
  const Story october = agency_story(seed);
  Story story = agency_in(seed, month_of(from_civil({.year = 2026, .month = 11})));
  story.folder = "2026-11";
  story.what =
      "The agency's November 2026: the same machines, prices and work, and one piece of advice followed: azure-batch-1 is "
      "switched "
      "off by day, 06:00 to 22:00 UTC, since the 1st.";
  keep_machines(story, october);
  by_night_alone(story, "azure-batch-1");
  story.steer_to_pct = kNovemberUtilisation;
  story.charges.push_back(october.charges.back());  // the same support fee
  story.bill = compute_cost(story);
  for (const StoryCharge& charge : story.charges)
    story.bill += charge.amount;
  number_runs(story, kFirstStoryJob + static_cast<int>(october.runs.size()));
  return story;
}

}  // namespace stint
