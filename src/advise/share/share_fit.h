// What may share a GPU, and how much of it each piece of work needs: the rules of the audit's finder and of `stint plan share`.
//
// Different clients share a GPU only by MIG, which keeps memory and faults apart. MPS and time slices are for work of one client and
// category; people's sessions get time slices, as under MPS a fault of one takes the others down.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "advise/find/finder_text.h"
#include "advise/share/gpu_packing.h"
#include "catalog/catalog.h"
#include "model/change.h"

namespace stint {

inline constexpr double kShareMemoryMargin = 1.1;
/// Of compute in a MIG instance; without walls kSharedComputeLimit leaves the room.
inline constexpr double kShareComputeMargin = 1.2;
/// What runs on one GPU now.
struct ShareService {
  const NodeFacts* node = nullptr;
  const GpuLoad* gpu = nullptr;
  bool whole = false;  ///< keeps a GPU to itself: it spans several, or was not measured
  double slowest =
      1;  ///< × as long as now that a request of a service may take, queueing included, at the busiest 5 % of the time; > 0
};
/// @param gpu  in use. By the promises of `facts`.
ShareService share_service(const FleetFacts& facts, const NodeFacts& node, const GpuLoad& gpu);
/// Those in use, in order of node and GPU.
std::vector<ShareService> services_of(const FleetFacts& facts, const NodeGroup& pool);
std::string label_of(const ShareService& service);

enum class ShareRule : uint8_t {
  kKeepLatency,  ///< requests of services take at most ShareService::slowest times as long, where that was measured
  kFit,          ///< memory and compute alone
};
/// The smallest MIG instance for it; none: it needs the GPU.
std::optional<int> share_profile(const MigGeometry& geometry, const ShareService& service,
                                 ShareRule rule = ShareRule::kKeepLatency);

/// A packing of services onto GPUs.
struct SharePacking {
  SharingMode mode = SharingMode::kMig;
  std::vector<PackedGpu> gpus;  ///< items index the services
  std::vector<int> profiles;    ///< per service, kMig only; −1 = whole GPU
};
/// none: no MIG on that GPU.
std::optional<SharePacking> pack_by_mig(std::span<const ShareService> services, const std::string& gpu_model,
                                        ShareRule rule = ShareRule::kKeepLatency);
/// By MPS, or time slices where MPS is not safe. @param gpu  nullptr = not in the catalogue.
SharePacking pack_side_by_side(std::span<const ShareService> services, const GpuFacts* gpu);

}  // namespace stint
