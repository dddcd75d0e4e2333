// Stories: fleets with a known truth, made to be written out as a user's data would come and read back in.
//
// A Story is parameters only: machines, what held which GPU when, jobs, charges and who really pays. The writers
// beside this file turn it into the formats of real tools (nvidia-smi, DCGM, Prometheus, FOCUS, CUR, sacct), so that
// a demonstration goes through the importers like any other input. Everything follows from a seed; the fleets are
// invented, the instance types and list prices are not. The generators reproduce the two reference stories' fleets and
// bills and know nothing of the advice that will be given on them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "model/fleet.h"
#include "model/tenant.h"
#include "model/workload.h"

namespace stint {

/// Telemetry of all stories comes every five minutes, which is also how long a sample may speak for.
inline constexpr Duration kStoryStep = Duration::minutes(5);
inline constexpr int64_t kStepsPerHour = kHour.count_ns() / kStoryStep.count_ns();

/// How a piece of work uses the GPU it holds.
enum class Rhythm {
  kSteady,       ///< training: start-up, then level with dips for validation and checkpoints
  kDaily,        ///< serving: follows the users through the day, quieter at the weekend
  kNightly,      ///< batch work 22:00–06:00 UTC; the model stays loaded by day
  kInteractive,  ///< a notebook: short bursts in working hours, memory held around the clock
};

/// A piece of work as its tools name it, and who it really belongs to.
struct StoryWork {
  Holder holder;  ///< what telemetry or accounting shows; empty = nothing names it
  Tenant tenant;  ///< the truth, to be found through rules and inventory
  WorkloadKind kind = WorkloadKind::kUnknown;
  Rhythm rhythm = Rhythm::kSteady;
  double quiet_pct = 0;        ///< utilisation at the quietest hour (kDaily)
  double busy_pct = 0;         ///< utilisation at the busiest
  int peak_hour_utc = 14;      ///< kDaily
  int64_t memory_mib = 0;      ///< held while it holds the GPU
  double dram_per_util = 0.4;  ///< memory-bandwidth activity per point of utilisation
  double tensor_per_util = 0.2;
};

/// One GPU held by one piece of work. Steps count from the story's begin; half-open.
struct StoryHold {
  size_t work = 0;  ///< into Story::works
  int64_t begin = 0;
  int64_t end = 0;
  int64_t busy_until = 0;  ///< from here on the GPU is held but nothing runs
  double level = 1;        ///< this job's use relative to the work's busy_pct
  int run = -1;            ///< into Story::runs; −1 = no job record
};

enum class StoryTelemetry { kNvidiaSmi, kDcgmText, kPrometheus };

struct StoryGpu {
  std::string uuid;
  std::vector<StoryHold> holds;  ///< ascending, disjoint
};

struct StoryNode {
  Node node;               ///< as the inventory lists it; node.rate is the list price on demand
  std::string gpu_name;    ///< as the driver writes it
  int64_t memory_mib = 0;  ///< per GPU
  double tdp_w = 0;
  StoryTelemetry telemetry = StoryTelemetry::kNvidiaSmi;
  std::vector<StoryGpu> gpus;
  std::vector<Interval> present;  ///< whole hours, ascending, disjoint; billed and seen only then
  Interval silent;                ///< the exporter is dead: on the bill, not in the telemetry
  std::vector<Tag> bill_tags;
  bool steered = true;   ///< counts towards Story::steer_to_pct
  bool profiled = true;  ///< the exporter has the DCGM_FI_PROF metrics
};

/// Storage, transfer, support: a charge for the month that is no instance.
struct StoryCharge {
  std::string provider;
  std::string region;
  std::string service;           ///< as the provider names it: "AmazonS3"
  std::string service_category;  ///< FOCUS: "Storage", "Networking", "Other"
  std::string usage_type;        ///< as CUR or the price list names it
  std::string description;
  std::string unit;  ///< "GB-Mo", "GB", "Month"
  int64_t quantity = 0;
  Money unit_price;
  Money amount;  ///< quantity × unit price
};

struct Story {
  std::string name;
  std::string what;         ///< a paragraph for people
  std::string folder;       ///< where its files lie, so that two months of a fleet can lie side by side
  Interval period;          ///< a UTC month
  Money bill;               ///< the whole month, exactly
  double steer_to_pct = 0;  ///< mean utilisation of the steered nodes' samples
  std::vector<StoryWork> works;
  std::vector<StoryNode> nodes;
  std::vector<Run> runs;  ///< what Slurm accounting knows
  std::vector<StoryCharge> charges;
  std::vector<TenantRule> rules;
  [[nodiscard]] int64_t steps() const { return period.length().count_ns() / kStoryStep.count_ns(); }
  [[nodiscard]] Instant at(int64_t step) const { return period.begin + kStoryStep * step; }
  [[nodiscard]] int64_t step_of(Instant t) const { return (t - period.begin).count_ns() / kStoryStep.count_ns(); }
};

/// 47,000.00 USD in October 2026 over AWS, GCP and Azure; 23 % mean utilisation. Fleet: see story_agency.cc.
Story agency_story(uint64_t seed);
/// The agency's November 2026: the same machines and the same work, and the advice on one machine followed. azure-batch-1 is there
/// from 22:00 to 06:00 UTC alone, when its work is. A realised saving can be seen on it.
Story agency_month_after(uint64_t seed);
/// 200,000.00 USD in October 2026 on AWS; 40 A100 serving at 20 %. Fleet: see story_platform.cc.
Story platform_story(uint64_t seed);

/// Receives a text piece by piece.
using TextOut = std::function<void(std::string_view)>;

/// One file of a story, in the order in which it is best imported.
struct StoryFile {
  std::string path;    ///< relative, with `/`
  std::string format;  ///< name in import_formats(): "nvidia-smi", "cur", …
  std::string node;    ///< the machine, where the format does not name it
  std::function<void(const TextOut&)> write;
};

/// All files of a story. They share its telemetry, which is worked out here, once.
std::vector<StoryFile> files_of(const Story& story, uint64_t seed);

}  // namespace stint
