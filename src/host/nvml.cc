#include "host/nvml.h"

#include <dlfcn.h>

#include <array>
#include <cmath>

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

/// "2g.20gb"; "1c.2g.20gb" where a compute instance is a part of its GPU instance only. Memory is named by eighths of the GPU's.
/// Source: NVIDIA's go-nvlib, pkg/nvlib/device, which names them for Kubernetes.
std::string profile_name(const NvmlAttributes& part, Bytes gpu_memory) {
  constexpr double kEighths = 8;
  const double share = static_cast<double>(part.memory_mib) * 1048576.0 / static_cast<double>(gpu_memory.count());
  const double gibi = std::ceil(static_cast<double>(gpu_memory.count()) / 1073741824.0);
  const double memory = std::round(std::ceil(share * kEighths) / kEighths * gibi);
  const std::string name = fmt::format("{}g.{:.0f}gb", part.gpu_instance_slices, memory);
  return part.compute_instance_slices == part.gpu_instance_slices ? name
                                                                  : fmt::format("{}c.{}", part.compute_instance_slices, name);
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
  NvmlReturn (*get_encoder)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  NvmlReturn (*get_decoder)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  NvmlReturn (*get_throttle_reasons)(NvmlDevice, unsigned long long*) = nullptr;
  NvmlReturn (*get_ecc_errors)(NvmlDevice, int, int, unsigned long long*) = nullptr;
  NvmlReturn (*get_mig_mode)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  NvmlReturn (*get_mig_count)(NvmlDevice, unsigned*) = nullptr;
  NvmlReturn (*get_mig_handle)(NvmlDevice, unsigned, NvmlDevice*) = nullptr;
  NvmlReturn (*get_gpu_instance)(NvmlDevice, unsigned*) = nullptr;
  NvmlReturn (*get_attributes)(NvmlDevice, NvmlAttributes*) = nullptr;
  NvmlReturn (*create_events)(NvmlEventSet*) = nullptr;
  NvmlReturn (*register_events)(NvmlDevice, unsigned long long, NvmlEventSet) = nullptr;
  NvmlReturn (*wait_for_event)(NvmlEventSet, NvmlEventData*, unsigned) = nullptr;
  NvmlReturn (*free_events)(NvmlEventSet) = nullptr;

  struct CloseLibrary {
    void operator()(void* library) const { dlclose(library); }
  };
  std::unique_ptr<void, CloseLibrary> library;
  bool started = false;
  std::vector<NvmlDevice> devices;
  std::vector<GpuIdentity> identities;
  NvmlEventSet events = nullptr;
  std::vector<std::optional<uint64_t>> xids;  // by position; none = the device does not tell

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (events != nullptr) free_events(events);
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
    find(get_encoder, "nvmlDeviceGetEncoderUtilization");
    find(get_decoder, "nvmlDeviceGetDecoderUtilization");
    find(get_throttle_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    if (get_throttle_reasons == nullptr) find(get_throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find(get_ecc_errors, "nvmlDeviceGetTotalEccErrors");
    find(get_mig_mode, "nvmlDeviceGetMigMode");
    find(get_mig_count, "nvmlDeviceGetMaxMigDeviceCount");
    find(get_mig_handle, "nvmlDeviceGetMigDeviceHandleByIndex");
    find(get_gpu_instance, "nvmlDeviceGetGpuInstanceId");
    find(get_attributes, "nvmlDeviceGetAttributes_v2");
    find(create_events, "nvmlEventSetCreate");
    find(register_events, "nvmlDeviceRegisterEvents");
    find(wait_for_event, "nvmlEventSetWait_v2");
    find(free_events, "nvmlEventSetFree");
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
    listen_for_errors();
    return {};
  }

  void listen_for_errors() {
    xids.resize(devices.size());
    if (create_events == nullptr || register_events == nullptr || wait_for_event == nullptr || free_events == nullptr) return;
    if (create_events(&events) != kNvmlSuccess) {
      events = nullptr;
      return;
    }
    for (size_t i = 0; i < devices.size(); ++i)
      if (register_events(devices[i], kNvmlEventXid, events) == kNvmlSuccess) xids[i] = 0;
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
  unsigned pct = 0, period_us = 0;
  if (impl_->get_encoder != nullptr && impl_->get_encoder(device, &pct, &period_us) == kNvmlSuccess) reading.encoder_pct = pct;
  if (impl_->get_decoder != nullptr && impl_->get_decoder(device, &pct, &period_us) == kNvmlSuccess) reading.decoder_pct = pct;
  reading.throttle_reasons = ask<unsigned long long>(impl_->get_throttle_reasons, device);
  reading.ecc_double_bit =
      ask<unsigned long long>(impl_->get_ecc_errors, device, int{kNvmlEccUncorrected}, int{kNvmlEccSinceBoot});
  reading.xid = impl_->xids[gpu];
  return reading;
}

void Nvml::take_errors() {
  if (impl_->events == nullptr) return;
  // So many at once are a storm: the rest is taken next time.
  for (int taken = 0; taken < 256; ++taken) {
    NvmlEventData event = {};
    if (impl_->wait_for_event(impl_->events, &event, 0) != kNvmlSuccess) return;
    for (size_t i = 0; i < impl_->devices.size(); ++i)
      if (impl_->devices[i] == event.device && event.event_type == kNvmlEventXid) impl_->xids[i] = event.event_data;
  }
}

std::vector<MigDevice> Nvml::mig_devices() {
  const Impl& s = *impl_;
  std::vector<MigDevice> found;
  if (s.get_mig_count == nullptr || s.get_mig_handle == nullptr || s.get_gpu_instance == nullptr || s.get_attributes == nullptr)
    return found;
  for (size_t gpu = 0; gpu < s.devices.size(); ++gpu) {
    unsigned mode = 0, pending = 0;
    if (s.get_mig_mode != nullptr && (s.get_mig_mode(s.devices[gpu], &mode, &pending) != kNvmlSuccess || mode != kNvmlMigEnabled))
      continue;
    const auto whole = ask<NvmlMemory>(s.get_memory, s.devices[gpu]);
    const unsigned most = ask<unsigned>(s.get_mig_count, s.devices[gpu]).value_or(0);
    for (unsigned i = 0; i < most && whole && whole->total > 0; ++i) {
      NvmlDevice part = nullptr;
      if (s.get_mig_handle(s.devices[gpu], i, &part) != kNvmlSuccess) continue;  // there may be more later
      const auto instance = ask<unsigned>(s.get_gpu_instance, part);
      const auto attributes = ask<NvmlAttributes>(s.get_attributes, part);
      std::array<char, 96> uuid = {};
      if (!instance || !attributes || s.get_uuid == nullptr || s.get_uuid(part, uuid.data(), uuid.size() - 1) != kNvmlSuccess)
        continue;
      MigDevice& device =
          found.emplace_back(MigDevice{.gpu = gpu,
                                       .instance = static_cast<int>(*instance),
                                       .profile = profile_name(*attributes, Bytes::of(static_cast<int64_t>(whole->total))),
                                       .uuid = uuid.data()});
      if (const auto memory = ask<NvmlMemory>(s.get_memory, part)) {
        device.memory_used = Bytes::of(static_cast<int64_t>(memory->used));
        device.memory_total = Bytes::of(static_cast<int64_t>(memory->total));
      }
    }
  }
  return found;
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
      const bool on_a_part = found[i].gpu_instance_id != ~0U;
      processes.push_back(
          {.pid = found[i].pid,
           .memory_used = told ? std::optional(Bytes::of(static_cast<int64_t>(found[i].used_gpu_memory))) : std::nullopt,
           .mig_instance = on_a_part ? std::optional(static_cast<int>(found[i].gpu_instance_id)) : std::nullopt});
    }
    return processes;
  }
  return make_error(ErrorCode::kUnavailable, "NVML: processes of GPU {} come faster than they can be listed: try again",
                    impl_->identities[gpu].index);
}

}  // namespace stint
