// A stand-in for libnvidia-ml.so: same exports, made-up devices. What it shows is set by the environment:
//   FAKE_NVML_GPUS      how many GPUs (2)
//   FAKE_NVML_FAIL      init: the driver is not loaded; lost: every GPU has fallen off the bus
//   FAKE_NVML_UTIL      utilisation of GPU 0 in percent (40); GPU 1 has twice as much, at most 100
//   FAKE_NVML_PROCESSES how many processes compute on each (2); all but the first hide their memory
//   FAKE_NVML_PIDS      a file: the first line's process ids compute on GPU 0, the second's on GPU 1, …; read at every call
//   FAKE_NVML_XID       an XID error that GPU 0 reports once
//   FAKE_NVML_MIG       how many MIG devices of 2g.20gb GPU 0 has (0 = it is not partitioned), at most 3: instances 3, 4, 5
//   FAKE_NVML_MIG_USED  how many of them have 2 GiB in use, the first ones (3); the others have 20 MiB
//   FAKE_NVML_USED_MIB  memory in use on every GPU (10 GiB on GPU 0, 20 on GPU 1, …)
// GPU 0 tells everything; the others tell neither power nor temperature, as some virtual GPUs do.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

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

// Handles are 1, 2, …: a device is its number. MIG devices of GPU 0 have those from kFirstMig on.
constexpr size_t kFirstMig = 1000;
bool is_mig(NvmlDevice device) { return reinterpret_cast<size_t>(device) >= kFirstMig; }
unsigned instance_of(NvmlDevice device) { return static_cast<unsigned>(reinterpret_cast<size_t>(device) - kFirstMig) + 3; }
unsigned number_of(NvmlDevice device) { return static_cast<unsigned>(reinterpret_cast<size_t>(device)) - 1; }

NvmlReturn put(char* to, unsigned size, const std::string& text) {
  if (text.size() + 1 > size) return kNvmlInsufficientSize;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return kNvmlSuccess;
}

/// Of the file FAKE_NVML_PIDS, for one device.
std::vector<unsigned> named_processes(NvmlDevice device) {
  std::ifstream file(std::getenv("FAKE_NVML_PIDS"));
  std::string line;
  for (unsigned i = 0; i <= number_of(device); ++i)
    if (!std::getline(file, line)) return {};
  std::istringstream words(line);
  std::vector<unsigned> pids;
  for (unsigned pid = 0; words >> pid;)
    pids.push_back(pid);
  return pids;
}

bool error_told = false;

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
  if (is_mig(device)) return put(uuid, size, "MIG-fake-" + std::to_string(instance_of(device)));
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
  if (is_mig(device)) {
    constexpr unsigned long long kTotal = 19'968;
    const unsigned long long used = instance_of(device) - 3 < setting("FAKE_NVML_MIG_USED", 3) ? 2'048 : 20;
    *memory = {.total = kTotal << 20, .free = (kTotal - used) << 20, .used = used << 20};
    return kNvmlSuccess;
  }
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

NvmlReturn nvmlDeviceGetComputeRunningProcesses_v3(NvmlDevice device, unsigned* count, NvmlProcessInfo* processes) {
  const std::vector<unsigned> named = std::getenv("FAKE_NVML_PIDS") ? named_processes(device) : std::vector<unsigned>();
  const unsigned have = std::getenv("FAKE_NVML_PIDS") ? static_cast<unsigned>(named.size()) : setting("FAKE_NVML_PROCESSES", 2);
  const unsigned room = *count;
  *count = have;
  if (room < have) return kNvmlInsufficientSize;
  // On a partitioned GPU they take turns on its parts.
  const unsigned parts = number_of(device) == 0 ? setting("FAKE_NVML_MIG", 0) : 0;
  for (unsigned i = 0; i < have; ++i)
    processes[i] = {named.empty() ? 1000 + i : named[i], i == 0 ? 3ULL << 30 : ~0ULL, parts > 0 ? 3 + i % parts : ~0U,
                    parts > 0 ? 0 : ~0U};
  return kNvmlSuccess;
}

NvmlReturn nvmlDeviceGetEncoderUtilization(NvmlDevice device, unsigned* pct, unsigned* period_us) {
  *pct = 7;
  *period_us = 167'000;
  return number_of(device) == 0 ? kNvmlSuccess : kNvmlNotSupported;
}
NvmlReturn nvmlDeviceGetDecoderUtilization(NvmlDevice, unsigned*, unsigned*) { return kNvmlNotSupported; }
NvmlReturn nvmlDeviceGetCurrentClocksThrottleReasons(NvmlDevice device, unsigned long long* bits) {
  *bits = 4;  // software power cap
  return number_of(device) == 0 ? kNvmlSuccess : kNvmlNotSupported;
}
NvmlReturn nvmlDeviceGetTotalEccErrors(NvmlDevice device, int error, int counter, unsigned long long* errors) {
  *errors = error == kNvmlEccUncorrected && counter == kNvmlEccSinceBoot ? 2 : 1000;
  return number_of(device) == 0 ? kNvmlSuccess : kNvmlNotSupported;
}

NvmlReturn nvmlDeviceGetMigMode(NvmlDevice device, unsigned* current, unsigned* pending) {
  *current = *pending = number_of(device) == 0 && setting("FAKE_NVML_MIG", 0) > 0 ? unsigned{kNvmlMigEnabled} : 0U;
  return kNvmlSuccess;
}
NvmlReturn nvmlDeviceGetMaxMigDeviceCount(NvmlDevice, unsigned* count) {
  *count = 7;
  return kNvmlSuccess;
}
NvmlReturn nvmlDeviceGetMigDeviceHandleByIndex(NvmlDevice, unsigned index, NvmlDevice* part) {
  // The first place is empty: somebody has destroyed what was there.
  if (index == 0 || index > setting("FAKE_NVML_MIG", 0) || index > 3) return kNvmlNotFound;
  *part = reinterpret_cast<NvmlDevice>(kFirstMig + index - 1);
  return kNvmlSuccess;
}
NvmlReturn nvmlDeviceGetGpuInstanceId(NvmlDevice part, unsigned* id) {
  *id = instance_of(part);
  return is_mig(part) ? kNvmlSuccess : kNvmlNotSupported;
}
NvmlReturn nvmlDeviceGetAttributes_v2(NvmlDevice part, NvmlAttributes* attributes) {
  *attributes = {.multiprocessors = 28, .gpu_instance_slices = 2, .compute_instance_slices = 2, .memory_mib = 19'968};
  return is_mig(part) ? kNvmlSuccess : kNvmlNotSupported;
}

NvmlReturn nvmlEventSetCreate(NvmlEventSet* set) {
  *set = reinterpret_cast<NvmlEventSet>(size_t{1});
  error_told = false;
  return kNvmlSuccess;
}
NvmlReturn nvmlEventSetFree(NvmlEventSet) { return kNvmlSuccess; }
NvmlReturn nvmlDeviceRegisterEvents(NvmlDevice device, unsigned long long types, NvmlEventSet) {
  return number_of(device) == 0 && types == kNvmlEventXid ? kNvmlSuccess : kNvmlNotSupported;
}
NvmlReturn nvmlEventSetWait_v2(NvmlEventSet, NvmlEventData* event, unsigned) {
  const unsigned xid = setting("FAKE_NVML_XID", 0);
  if (xid == 0 || error_told) return kNvmlTimeout;
  error_told = true;
  *event = {reinterpret_cast<NvmlDevice>(size_t{1}), kNvmlEventXid, xid, ~0U, ~0U};
  return kNvmlSuccess;
}

}  // extern "C"
