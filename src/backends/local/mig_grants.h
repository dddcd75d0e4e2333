// Gives each task that was granted a part of a GPU a separate MIG device.
//
// The scheduler knows how many parts of which profile a GPU has, not which is which: that is settled here, at the moment of the
// start, from what NVML lists. A device is one task's until that task has ended.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "backends/local/gpu_clear.h"

namespace stint {

/// In place of a GPU's index: the device may be on any GPU of the node.
inline constexpr int kAnyGpu = -1;

/// Does one of them name a profile, and so still lack its device?
bool asks_for_mig_device(const std::vector<GrantedGpu>& gpus);

/// Puts a device in the place of each profile that `mig_uuid` names, one whose memory is clear.
/// @param taken  UUIDs of devices that other tasks have. @param options  NVML's file, and what an idle device may have in use.
/// @return kUnavailable when a GPU has no free device of the profile, none of them is clear, or it is not known.
Status grant_mig_devices(std::vector<GrantedGpu>& gpus, std::set<std::string> taken, const GpuClearCheck::Options& options);

/// The GPU instance of each that is a MIG device, in their order; −1 = NVML does not tell.
std::vector<int> mig_instances_of(const std::vector<GrantedGpu>& gpus, const GpuClearCheck::Options& options);

}  // namespace stint
