#include "host/nvml.h"

#include <dlfcn.h>

#include <array>

#include "host/nvml_abi.h"

namespace stint {
namespace {

/// Reads a scalar through one of NVML's getters; none when the device does not tell.
template <typename T, typename Function, typename... Args>
std::optional<T> ask(Function function, NvmlDevice device, Args... args) {
  T value{};
  if (function == nullptr || function(device, args..., &value) != kNvmlSuccess) return std::nullopt;
  return value;
}

std::optional<double> scaled(std::optional<unsigned> value, double divisor) {
  return value ? std::optional(*value / divisor) : std::nullopt;
}

}  // namespace

struct Nvml::Impl {
  // Names and parameters as in the reference guide; nullptr where an older library lacks one.
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  const char* (*error_string)(NvmlReturn) = nullptr;
  NvmlReturn (*get_count)(unsigned*) = nullptr;
  NvmlReturn (*get_handle)(unsigned, NvmlDevice*) = nullptr;
  NvmlReturn (*get_name)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlReturn (*get_uuid)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlReturn (*get_utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  NvmlReturn (*get_memory)(NvmlDevice, NvmlMemory*) = nullptr;
  NvmlReturn (*get_power)(NvmlDevice, unsigned*) = nullptr;
  NvmlReturn (*get_power_limit)(NvmlDevice, unsigned*) = nullptr;
  NvmlReturn (*get_temperature)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlReturn (*get_clock)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlReturn (*get_processes)(NvmlDevice, unsigned*, NvmlProcessInfo*) = nullptr;

  struct CloseLibrary {
    void operator()(void* library) const { dlclose(library); }
  };
  std::unique_ptr<void, CloseLibrary> library;
  bool started = false;
  std::vector<NvmlDevice> devices;
  std::vector<GpuIdentity> identities;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (started) shutdown();
  }

  template <typename Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library.get(), name));
  }

  void find_all() {
    find(init, "nvmlInit_v2");
    find(shutdown, "nvmlShutdown");
    find(error_string, "nvmlErrorString");
    find(get_count, "nvmlDeviceGetCount_v2");
    find(get_handle, "nvmlDeviceGetHandleByIndex_v2");
    find(get_name, "nvmlDeviceGetName");
    find(get_uuid, "nvmlDeviceGetUUID");
    find(get_utilization, "nvmlDeviceGetUtilizationRates");
    find(get_memory, "nvmlDeviceGetMemoryInfo");
    find(get_power, "nvmlDeviceGetPowerUsage");
    find(get_power_limit, "nvmlDeviceGetEnforcedPowerLimit");
    find(get_temperature, "nvmlDeviceGetTemperature");
    find(get_clock, "nvmlDeviceGetClockInfo");
    find(get_processes, "nvmlDeviceGetComputeRunningProcesses_v3");
    if (get_processes == nullptr) find(get_processes, "nvmlDeviceGetComputeRunningProcesses_v2");
  }

  [[nodiscard]] Error error(std::string_view what, NvmlReturn code) const {
    std::string_view remedy = "run nvidia-smi to see what the driver says";
    if (code == kNvmlDriverNotLoaded) remedy = "load the NVIDIA driver, or start the container with GPU access";
    if (code == kNvmlGpuIsLost) remedy = "the GPU fell off the bus: drain the machine and reboot it";
    return make_error(ErrorCode::kUnavailable, "NVML: {}: {}: {}", what, error_string == nullptr ? "failed" : error_string(code),
                      remedy);
  }

  Status start() {
    if (const NvmlReturn code = init(); code != kNvmlSuccess) return error("cannot start", code);
    started = true;
    unsigned count = 0;
    if (const NvmlReturn code = get_count(&count); code != kNvmlSuccess) return error("cannot count the GPUs", code);
    for (unsigned i = 0; i < count; ++i) {
      NvmlDevice device = nullptr;
      // A GPU this user may not see (cgroups) is passed over, as nvidia-smi does.
      const NvmlReturn code = get_handle(i, &device);
      if (code == kNvmlNoPermission) continue;
      if (code != kNvmlSuccess) return error(fmt::format("GPU {}", i), code);
      std::array<char, 96> name = {}, uuid = {};
      if (get_name != nullptr) get_name(device, name.data(), name.size() - 1);
      if (get_uuid != nullptr) get_uuid(device, uuid.data(), uuid.size() - 1);
      devices.push_back(device);
      identities.push_back({static_cast<int>(i), name.data(), uuid.data()});
    }
    return {};
  }
};

Nvml::Nvml(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Nvml::Nvml(Nvml&&) noexcept = default;
Nvml& Nvml::operator=(Nvml&&) noexcept = default;
Nvml::~Nvml() = default;

Result<Nvml> Nvml::load(const std::string& library) {
  auto impl = std::make_unique<Impl>();
  impl->library.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!impl->library)
    return make_error(
        ErrorCode::kUnavailable,
        "NVML: {} is not here: install the NVIDIA driver, or run where it is (in a container: with the NVIDIA runtime)", library);
  impl->find_all();
  if (impl->init == nullptr || impl->shutdown == nullptr || impl->get_count == nullptr || impl->get_handle == nullptr)
    return make_error(ErrorCode::kUnavailable, "NVML: {} is no NVML, or older than 2012: update the NVIDIA driver", library);
  TRY(impl->start());
  return Nvml(std::move(impl));
}

const std::vector<GpuIdentity>& Nvml::gpus() const { return impl_->identities; }

Result<GpuReading> Nvml::read(size_t gpu) {
  CHECK(gpu < impl_->devices.size(), "GPU {} of {}", gpu, impl_->devices.size());
  const NvmlDevice device = impl_->devices[gpu];
  GpuReading reading;
  NvmlUtilization utilization = {};
  const NvmlReturn code =
      impl_->get_utilization == nullptr ? NvmlReturn{kNvmlNotSupported} : impl_->get_utilization(device, &utilization);
  if (code == kNvmlSuccess) {
    reading.utilization_pct = utilization.gpu;
    reading.memory_bandwidth_pct = utilization.memory;
  } else if (code == kNvmlGpuIsLost || code == kNvmlDriverNotLoaded) {
    return impl_->error(fmt::format("GPU {}", impl_->identities[gpu].index), code);
  }
  if (const auto memory = ask<NvmlMemory>(impl_->get_memory, device)) {
    reading.memory_used = Bytes::of(static_cast<int64_t>(memory->used));
    reading.memory_total = Bytes::of(static_cast<int64_t>(memory->total));
  }
  reading.power_w = scaled(ask<unsigned>(impl_->get_power, device), 1000);
  reading.power_limit_w = scaled(ask<unsigned>(impl_->get_power_limit, device), 1000);
  reading.temperature_c = scaled(ask<unsigned>(impl_->get_temperature, device, int{kNvmlTemperatureGpu}), 1);
  reading.sm_clock_mhz = scaled(ask<unsigned>(impl_->get_clock, device, int{kNvmlClockSm}), 1);
  reading.memory_clock_mhz = scaled(ask<unsigned>(impl_->get_clock, device, int{kNvmlClockMemory}), 1);
  return reading;
}

Result<std::vector<GpuProcess>> Nvml::processes(size_t gpu) {
  CHECK(gpu < impl_->devices.size(), "GPU {} of {}", gpu, impl_->devices.size());
  if (impl_->get_processes == nullptr)
    return make_error(ErrorCode::kUnavailable, "NVML: the driver is too old to list processes: update it");
  // Processes may come between the calls: some room to spare, and another try with what the library asks for.
  std::vector<NvmlProcessInfo> found(64);
  for (int attempt = 0; attempt < 4; ++attempt) {
    auto count = static_cast<unsigned>(found.size());
    const NvmlReturn code = impl_->get_processes(impl_->devices[gpu], &count, found.data());
    if (code == kNvmlInsufficientSize) {
      found.resize(size_t{count} + 64);
      continue;
    }
    if (code != kNvmlSuccess) return impl_->error(fmt::format("processes of GPU {}", impl_->identities[gpu].index), code);
    std::vector<GpuProcess> processes;
    for (unsigned i = 0; i < count && i < found.size(); ++i) {
      const bool told = found[i].used_gpu_memory != ~0ULL;
      processes.push_back(
          {found[i].pid, told ? std::optional(Bytes::of(static_cast<int64_t>(found[i].used_gpu_memory))) : std::nullopt});
    }
    return processes;
  }
  return make_error(ErrorCode::kUnavailable, "NVML: processes of GPU {} come faster than they can be listed: try again",
                    impl_->identities[gpu].index);
}

}  // namespace stint
