// The device files that a task finds in /dev: the usual ones, and of the GPUs those it was granted. CUDA_VISIBLE_DEVICES asks a program to
// look at some GPUs alone; what is not in /dev it cannot open.
//
// Sources: NVIDIA's driver README, "Device nodes" (major 195, minor of /proc/driver/nvidia/gpus/*/information); NVIDIA's Multi-Instance
// GPU user guide, "Device Nodes and Capabilities" (/proc/driver/nvidia/capabilities).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"

namespace stint {

/// Where the kernel shows devices and the driver tells of them; others in tests.
struct DeviceFolders {
  std::string dev = "/dev";
  std::string driver = "/proc/driver/nvidia";
};

/// Every file of a GPU there, granted or not, ascending: nvidia0, nvidiactl, nvidia-caps/nvidia-cap1 …
std::vector<std::string> all_gpu_files(const DeviceFolders& folders);

/// Those of them that go with the GPUs: each one's own, what any GPU needs (nvidiactl, nvidia-uvm …), and of a MIG device its capabilities.
/// @param mig_instances  of the GPU, one for each of `gpus` that is a MIG device, in their order; −1 = not known: then all MIG devices of
///   that GPU can be opened. @return below `dev`, none for no GPU. A GPU whose number the driver does not tell counts by its index.
std::vector<std::string> gpu_files_of(const std::vector<GrantedGpu>& gpus, const std::vector<int>& mig_instances,
                                      const DeviceFolders& folders);

/// In the task's process, while it is root, in mounts of its own: a /dev with these and the usual files alone, to which nothing can be
/// added. @param more  further ones below /dev. @return success; else errno says why not
bool show_devices(const std::vector<std::string>& gpu_files, const std::vector<std::string>& more);

/// A device by its number.
struct DeviceNumber {
  uint32_t major = 0;
  uint32_t minor = 0;
  auto operator<=>(const DeviceNumber&) const = default;
};
/// Of those of the files that are character devices.
std::vector<DeviceNumber> device_numbers(const std::vector<std::string>& files, const DeviceFolders& folders);

/// Of the devices whose majors are among `guarded`, processes of the cgroup (version 2) and below can open `allowed` alone, by whatever
/// file. @return what the kernel says when it does not take it
Status filter_devices(const std::string& cgroup, const std::vector<DeviceNumber>& guarded,
                      const std::vector<DeviceNumber>& allowed);
/// Would it? Nothing is attached.
Status try_device_filter();

}  // namespace stint
