// A stand-in for libnvidia-ml.so: same exports, made-up devices. What it shows is set by the environment:
//   FAKE_NVML_GPUS      how many GPUs (2)
//   FAKE_NVML_FAIL      init: the driver is not loaded; lost: every GPU has fallen off the bus
//   FAKE_NVML_UTIL      utilisation of GPU 0 in percent (40); GPU 1 has twice as much, at most 100
//   FAKE_NVML_PROCESSES how many processes compute on each (2); all but the first hide their memory
//   FAKE_NVML_USED_MIB  memory in use on every GPU (10 GiB on GPU 0, 20 on GPU 1, …)
// GPU 0 tells everything; the others tell neither power nor temperature, as some virtual GPUs do.
#include <cstdlib>
#include <cstring>
#include <string>

#include "host/nvml_abi.h"

namespace {

unsigned setting(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::atoi(text));
}

bool fails(const char* how) {
  const char* text = std::getenv("FAKE_NVML_FAIL");
  return text != nullptr && std::strcmp(text, how) == 0;
}

// Handles are 1, 2, …: a device is its number.
unsigned number_of(NvmlDevice device) { return static_cast<unsigned>(reinterpret_cast<size_t>(device)) - 1; }

NvmlReturn put(char* to, unsigned size, const std::string& text) {
  if (text.size() + 1 > size) return kNvmlInsufficientSize;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return kNvmlSuccess;
}

}  // namespace

extern "C" {

NvmlReturn nvmlInit_v2() { return fails("init") ? kNvmlDriverNotLoaded : kNvmlSuccess; }
NvmlReturn nvmlShutdown() { return kNvmlSuccess; }
const char* nvmlErrorString(NvmlReturn code) { return code == kNvmlDriverNotLoaded ? "Driver Not Loaded" : "Some Error"; }

NvmlReturn nvmlDeviceGetCount_v2(unsigned* count) {
  *count = setting("FAKE_NVML_GPUS", 2);
  return kNvmlSuccess;
}

NvmlReturn nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice* device) {
  *device = reinterpret_cast<NvmlDevice>(static_cast<size_t>(index) + 1);
  return kNvmlSuccess;
}

NvmlReturn nvmlDeviceGetName(NvmlDevice, char* name, unsigned size) { return put(name, size, "NVIDIA A100-SXM4-80GB"); }
NvmlReturn nvmlDeviceGetUUID(NvmlDevice device, char* uuid, unsigned size) {
  return put(uuid, size, "GPU-fake-" + std::to_string(number_of(device)));
}

NvmlReturn nvmlDeviceGetUtilizationRates(NvmlDevice device, NvmlUtilization* utilization) {
  if (fails("lost")) return kNvmlGpuIsLost;
  const unsigned value = setting("FAKE_NVML_UTIL", 40) * (number_of(device) + 1);
  utilization->gpu = value < 100 ? value : 100;
  utilization->memory = 10;
  return kNvmlSuccess;
}

NvmlReturn nvmlDeviceGetMemoryInfo(NvmlDevice device, NvmlMemory* memory) {
  memory->total = 80ULL << 30;
  memory->used = static_cast<unsigned long long>(setting("FAKE_NVML_USED_MIB", (number_of(device) + 1) * 10240)) << 20;
  memory->free = memory->total - memory->used;
  return kNvmlSuccess;
}

NvmlReturn nvmlDeviceGetPowerUsage(NvmlDevice device, unsigned* milliwatts) {
  *milliwatts = 250'500;
  return number_of(device) == 0 ? kNvmlSuccess : kNvmlNotSupported;
}
NvmlReturn nvmlDeviceGetEnforcedPowerLimit(NvmlDevice device, unsigned* milliwatts) {
  *milliwatts = 400'000;
  return number_of(device) == 0 ? kNvmlSuccess : kNvmlNotSupported;
}
NvmlReturn nvmlDeviceGetTemperature(NvmlDevice device, int, unsigned* celsius) {
  *celsius = 61;
  return number_of(device) == 0 ? kNvmlSuccess : kNvmlNotSupported;
}
NvmlReturn nvmlDeviceGetClockInfo(NvmlDevice, int clock, unsigned* mhz) {
  *mhz = clock == kNvmlClockSm ? 1410 : 1593;
  return kNvmlSuccess;
}

NvmlReturn nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice, unsigned* count, NvmlProcessInfo* processes) {
  const unsigned have = setting("FAKE_NVML_PROCESSES", 2);
  const unsigned room = *count;
  *count = have;
  if (room < have) return kNvmlInsufficientSize;
  for (unsigned i = 0; i < have; ++i)
    processes[i] = {1000 + i, i == 0 ? 3ULL << 30 : ~0ULL, ~0U, ~0U};
  return kNvmlSuccess;
}

}  // extern "C"
