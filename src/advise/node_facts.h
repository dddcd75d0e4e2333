// What the audit knows of each node before it proposes anything: money, hours, use, memory, whose and what for.
//
// Pure aggregation of History, Usage, Occupancy and Ledger; the finders read nothing else of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advise/audit_input.h"
#include "advise/audit_report.h"
#include "advise/batch_curves.h"
#include "advise/billing_months.h"
#include "advise/find/bill_facts.h"
#include "advise/prove/spot_belief.h"
#include "catalog/measured_pairs.h"
#include "model/physical_gpu.h"

namespace stint {

/// What ran in one MIG instance of a GPU.
struct InstanceLoad {
  std::optional<Bytes> memory_peak;
  double busy_p95 = 0;  ///< of the whole GPU, 0 … 1
};

/// One physical GPU over the period. Percentages are of the time with telemetry; absent = no telemetry.
struct GpuLoad {
  int index = -1;
  std::vector<uint32_t> devices;  ///< the whole GPU, or its MIG instances
  bool cut_by_mig = false;
  std::optional<double> mean_pct;
  std::optional<double> busy_p95_pct;  ///< 95 % quantile of the samples in which it was not idle
  std::optional<double> idle_pct;
  std::optional<Bytes> memory_p95;
  std::optional<Bytes> memory_peak;
  std::optional<Bytes> memory_total;
  double covered_hours = 0;  ///< with utilisation telemetry
  bool in_use = false;       ///< active or with memory held in some hour
  bool in_gang = false;      ///< its holder holds another GPU of the node at the same time
  std::string client;        ///< who held it most; "" = not known
  std::string workload;
  bool mixed_clients = false;  ///< others held it too
  /// Of the time in which something ran: share of the SMs and of the memory bandwidth in use, 0 … 1. None: not measured, or cut by MIG.
  std::optional<double> sm_while_busy, memory_while_busy;
  std::vector<float> hourly_pct;             ///< of services: mean by hour of the period; −1 = no telemetry
  std::vector<float> hourly_peak_pct = {};   ///< of services: the busiest sample likewise
  std::optional<double> p99_ms;              ///< of requests: exceeded in 5 % of the samples
  std::vector<InstanceLoad> instances = {};  ///< of a GPU cut by MIG: those in which something ran or held memory
};

/// One hour of one node.
struct NodeHour {
  uint16_t on_s = 0;         ///< seconds it was there
  uint16_t seen_s = 0;       ///< seconds with utilisation telemetry of any GPU
  uint16_t active_gpus = 0;  ///< with at least 1 % of samples active
  uint16_t used_gpus = 0;    ///< active, or with memory held
  bool reserved = false;     ///< a run held it
  float mean_pct = -1;       ///< over GPUs seen; −1 = none
};

struct NodeFacts {
  NodeId id;
  std::string name, resource_id, provider, region, zone, instance_type, gpu_model;
  Market market = Market::kUnknown;
  WorkloadKind kind = WorkloadKind::kUnknown;
  std::string category, client, environment, workload;
  int64_t gpu_count = 0;
  int64_t vcpus = 0;
  Bytes memory;
  double hours = 0;                ///< instance-hours in the period
  Money compute;                   ///< in the period, for the instance itself
  bool priced = false;             ///< some line of the bill or some price says what it costs
  std::vector<GpuLoad> gpus;       ///< those telemetry saw
  std::vector<NodeHour> timeline;  ///< one per hour of the period
  std::optional<double> mean_pct, p95_pct, idle_pct;
  std::optional<Bytes> memory_p95, memory_peak, memory_total;  ///< of the fullest GPU
  std::optional<double> host_cpu_pct;
  double coverage_pct = 0;  ///< of GPU-hours
  TelemetryQuality quality = TelemetryQuality::kNone;
  std::string utilization_source;
  std::optional<bool> checkpointable;
  bool named_holder = false;  ///< a run or a pod, container or job of the telemetry held it

  /// Effective price of an instance-hour; none when it cost nothing or was never there.
  [[nodiscard]] std::optional<Money> hourly() const;
};

/// Of p99 as it is, in percent: the bound of a service of which nothing is promised. Milliseconds are recorded to 1 %, so less than that is no
/// difference.
inline constexpr double kTodaysP99Pct = 101;

struct FleetFacts {
  Interval period;
  BillingMonths months;
  Currency currency;
  int64_t first_hour = 0;  ///< hour index of timeline[0]
  size_t hour_count = 0;
  std::vector<NodeFacts> nodes;  ///< by NodeId
  SpotBelief spot = {};
  std::map<std::string, double> promises_ms = {};      ///< of p99, by service (promises.h)
  std::optional<double> promised_pct = {};             ///< of p99 of all services: at most so many percent of as it is; > 0
  double unpromised_pct = kTodaysP99Pct;               ///< of p99 of services of which nothing is promised, likewise
  MeasuredPairs pairs = {};                            ///< of the user's own, by the GPU models of `nodes`
  BatchCurves batch_curves = {};                       ///< as measured
  std::vector<std::string> promise_notes = {};         ///< tags that should promise something and cannot be read
  std::vector<BillContradiction> contradictions = {};  ///< of bill and inventory; nodes hold what the bill says
};

/// By its GPU's workload, else its machine's, else the machine's name.
std::string service_name(const NodeFacts& node, const GpuLoad& gpu);

/// 0 = Monday 00:00–01:00 UTC … 167. @param hour_index  hours since 1970.
size_t hour_of_week(int64_t hour_index);
/// Coverage ≥ 90 % good, ≥ 50 % fair, > 0 poor.
TelemetryQuality telemetry_quality(double coverage_pct);
/// "training experiments", "production training", "serving", "batch inference", "evaluation", "notebooks", "other".
std::string category_of(WorkloadKind kind, const Tenant& tenant);

/// @param ledger  posted over history.period from `occupancy`.
FleetFacts collect_facts(const History& history, const Usage& usage, const Occupancy& occupancy, const Ledger& ledger,
                         const Catalog& catalog);

/// How much of what is paid for was used.
struct FleetUse {
  double gpu_hours = 0;                      ///< there
  Money compute;                             ///< of the instances
  std::optional<double> mean_pct;            ///< mean utilisation over the GPU-hours with telemetry
  double coverage_pct = 0;                   ///< GPU-hours with telemetry
  std::optional<Money> per_useful_gpu_hour;  ///< compute / (gpu_hours × mean utilisation)
};
FleetUse use_of(const FleetFacts& fleet);

}  // namespace stint
