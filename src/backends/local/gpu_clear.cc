#include "backends/local/gpu_clear.h"

#include <algorithm>

namespace stint {

GpuClearCheck::GpuClearCheck(const Options& options) : allowance_(options.allowance) {
  auto nvml = Nvml::load(options.nvml_library);
  if (nvml.ok())
    nvml_ = std::move(nvml).value();
  else
    why_not_ = nvml.error().message;
}

Status GpuClearCheck::check(const std::vector<GrantedGpu>& gpus) {
  if (!nvml_) return {};
  for (const GrantedGpu& gpu : gpus) {
    if (!gpu.mig_uuid.empty()) continue;
    const auto& known = nvml_->gpus();
    const auto found = std::find_if(known.begin(), known.end(), [&](const GpuIdentity& k) {
      return gpu.uuid.empty() ? k.index == gpu.index : k.uuid == gpu.uuid;
    });
    if (found == known.end())
      return make_error(ErrorCode::kNotFound, "GPU {}: is not on this machine; stint nodes shows what is",
                        gpu.uuid.empty() ? std::to_string(gpu.index) : gpu.uuid);
    TRY(check(static_cast<size_t>(found - known.begin()), gpu));
  }
  return {};
}

Status GpuClearCheck::check(size_t position, const GrantedGpu& gpu) {
  const int index = nvml_->gpus()[position].index;
  TRY_ASSIGN(const std::vector<GpuProcess> processes, nvml_->processes(position));
  if (!processes.empty())
    return make_error(ErrorCode::kUnavailable, "GPU {}: is not clear: process {} still computes on it; end it, or drain the GPU",
                      gpu.index, processes.front().pid);
  TRY_ASSIGN(const GpuReading reading, nvml_->read(position));
  if (!reading.memory_used || *reading.memory_used <= allowance_) return {};
  return make_error(ErrorCode::kUnavailable,
                    "GPU {}: is not clear: {} bytes of its memory are in use and no process is known to use them, {} may be; "
                    "nvidia-smi --gpu-reset -i {} clears it",
                    index, reading.memory_used->count(), allowance_.count(), index);
}

}  // namespace stint
