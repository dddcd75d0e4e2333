// What work on a node needs of another type, and how fast another GPU is relative to the present one.
//
// The audit's finder and `stint plan rightsize` both decide by these.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "advise/node_facts.h"
#include "catalog/catalog.h"

namespace stint {

inline constexpr double kResizeMemoryMargin = 1.1;
/// Of another GPU's throughput that the need of the busiest 5 % may take.
inline constexpr double kResizeHeadroom = 0.7;

/// What one MIG instance must hold on another type.
struct InstanceNeed {
  Bytes memory;        ///< margin included
  double compute = 0;  ///< of a present GPU, margin included
};

/// Work on a node as another type must be able to do it.
struct ResizeNeed {
  int64_t gpus = 1;    ///< in use at once, at most
  double p95_pct = 0;  ///< of the busiest GPU
  Bytes memory;        ///< per GPU, margin included
  int64_t vcpus = 0;
  std::string arch;                          ///< programs built for one do not run on another
  std::vector<InstanceNeed> instances = {};  ///< of GPUs cut by MIG, where several are in use: they stay apart
};
/// none without telemetry of utilisation and memory.
std::optional<ResizeNeed> resize_need(const NodeFacts& node, const Catalog& catalog);
/// What both need.
ResizeNeed harder_of(const ResizeNeed& a, const ResizeNeed& b);

/// Throughput of one GPU in units of another. Work bound by arithmetic scales by one roof, work bound by memory by the other; `low`
/// and `high` are the two.
struct RelativeThroughput {
  double low = 1;
  double high = 1;
  std::string_view basis;  ///< "the same GPU", "measured", "partly measured" or "estimated"
};
/// A roof measured on both counts as measured, else both data sheets. none when a data sheet lacks one.
std::optional<RelativeThroughput> relative_throughput(const GpuFacts& to, const GpuFacts& from);

/// Why a type cannot hold the work, whatever it costs and however fast it is; none = it can.
std::optional<std::string> resize_misfit(const InstanceType& type, const ResizeNeed& need);

/// Why a machine of that type has no MIG instances for what must stay apart; none = it has, or nothing must.
/// @param throughput  of one of its GPUs, in units of a present one.
std::optional<std::string> slices_misfit(const InstanceType& type, const ResizeNeed& need, double throughput);

}  // namespace stint
