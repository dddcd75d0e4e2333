#include "backends/local/mig_grants.h"

#include <algorithm>

#include "host/nvml.h"

namespace stint {
namespace {

bool names_profile(const GrantedGpu& gpu) { return !gpu.mig_uuid.empty() && !gpu.mig_uuid.starts_with("MIG-"); }

}  // namespace

bool asks_for_mig_device(const std::vector<GrantedGpu>& gpus) { return std::ranges::any_of(gpus, names_profile); }

Status grant_mig_devices(std::vector<GrantedGpu>& gpus, std::set<std::string> taken, const GpuClearCheck::Options& options) {
  if (!asks_for_mig_device(gpus)) return {};
  // Anew each time: administrators make and destroy these devices.
  TRY_ASSIGN(Nvml nvml, Nvml::load(options.nvml_library));
  const std::vector<MigDevice> devices = nvml.mig_devices();
  for (GrantedGpu& gpu : gpus) {
    if (!names_profile(gpu)) continue;
    const auto fits = [&](const MigDevice& device) {
      return (gpu.index == kAnyGpu || nvml.gpus()[device.gpu].index == gpu.index) && device.profile == gpu.mig_uuid;
    };
    const auto is_free = [&](const MigDevice& device) { return fits(device) && !taken.contains(device.uuid); };
    const auto is_clear = [&](const MigDevice& device) { return device.memory_used.value_or(Bytes()) <= options.allowance; };
    const auto found = std::ranges::find_if(devices, [&](const MigDevice& d) { return is_free(d) && is_clear(d); });
    const auto left = std::ranges::find_if(devices, is_free);
    if (found == devices.end() && left != devices.end())
      return make_error(
          ErrorCode::kUnavailable,
          "MIG device {} of GPU {}: is not clear: {} bytes of its memory are in use by no task, {} may be; end the processes "
          "nvidia-smi shows on it, or make it anew",
          left->uuid, nvml.gpus()[left->gpu].index, left->memory_used->count(), options.allowance.count());
    if (found == devices.end())
      return make_error(
          ErrorCode::kUnavailable,
          "{} has no free MIG device {} ({} in all): partition it as the configuration says, see nvidia-smi mig -lgi",
          gpu.index == kAnyGpu ? "the node" : fmt::format("GPU {}", gpu.index), gpu.mig_uuid,
          std::ranges::count_if(devices, fits));
    gpu.index = nvml.gpus()[found->gpu].index;
    gpu.mig_uuid = found->uuid;
    taken.insert(found->uuid);
  }
  return {};
}

std::vector<int> mig_instances_of(const std::vector<GrantedGpu>& gpus, const GpuClearCheck::Options& options) {
  std::vector<int> instances;
  if (std::ranges::all_of(gpus, [](const GrantedGpu& gpu) { return gpu.mig_uuid.empty(); })) return instances;
  Result<Nvml> nvml = Nvml::load(options.nvml_library);
  const std::vector<MigDevice> devices = nvml.ok() ? nvml->mig_devices() : std::vector<MigDevice>();
  for (const GrantedGpu& gpu : gpus) {
    if (gpu.mig_uuid.empty()) continue;
    const auto found = std::ranges::find(devices, gpu.mig_uuid, &MigDevice::uuid);
    instances.push_back(found == devices.end() ? -1 : found->instance);
  }
  return instances;
}

}  // namespace stint
