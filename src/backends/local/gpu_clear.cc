#include "backends/local/gpu_clear.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace stint {
namespace {

/// NVIDIA, Multi-Process Service, "nvidia-cuda-mps-server": one for each user, on every GPU that it shares. A program that another user
/// calls so is none.
bool is_mps_server(int64_t pid) {
  std::error_code failed;
  const std::filesystem::path link = fmt::format("/proc/{}/exe", pid);
  const std::filesystem::path program = std::filesystem::read_symlink(link, failed);
  struct stat status = {};
  return !failed && program.filename() == "nvidia-cuda-mps-server" && ::stat(link.c_str(), &status) == 0 &&
         (status.st_uid == 0 || status.st_uid == ::geteuid()) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

GpuClearCheck::GpuClearCheck(const Options& options) : allowance_(options.allowance) {
  auto nvml = Nvml::load(options.nvml_library);
  if (nvml.ok())
    nvml_ = std::move(nvml).value();
  else
    why_not_ = nvml.error().message;
}

Status GpuClearCheck::check(const std::vector<GrantedGpu>& gpus, Tenancy tenancy) {
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
    TRY(check(static_cast<size_t>(found - known.begin()), gpu, tenancy));
  }
  return {};
}

std::string GpuClearCheck::uuid_of(const GrantedGpu& gpu) const {
  if (!gpu.mig_uuid.empty() || !gpu.uuid.empty() || !nvml_) return gpu.mig_uuid.empty() ? gpu.uuid : gpu.mig_uuid;
  const auto found = std::ranges::find(nvml_->gpus(), gpu.index, &GpuIdentity::index);
  return found == nvml_->gpus().end() ? "" : found->uuid;
}

Status GpuClearCheck::check(size_t position, const GrantedGpu& gpu, Tenancy tenancy) {
  const int index = nvml_->gpus()[position].index;
  TRY_ASSIGN(std::vector<GpuProcess> processes, nvml_->processes(position));
  if (tenancy == Tenancy::kShared) std::erase_if(processes, [](const GpuProcess& process) { return is_mps_server(process.pid); });
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
