// The part of NVML's C ABI that Stint calls; shared by the loader and by the tests' stand-in library.
// Source: NVML API Reference Guide, "Device Queries", "nvmlReturn_t". Structures that carry a version in the
// function's name (_v2, _v3) are of that version.
#pragma once

extern "C" {

typedef struct NvmlDeviceObject* NvmlDevice;
typedef int NvmlReturn;

enum {
  kNvmlSuccess = 0,
  kNvmlNotSupported = 3,
  kNvmlNoPermission = 4,
  kNvmlInsufficientSize = 7,
  kNvmlDriverNotLoaded = 9,
  kNvmlGpuIsLost = 15,
};
enum { kNvmlTemperatureGpu = 0 };
enum { kNvmlClockSm = 1, kNvmlClockMemory = 2 };

typedef struct {
  unsigned int gpu;     // percent of the time since the last sample in which a kernel ran
  unsigned int memory;  // percent of the time in which memory was read or written
} NvmlUtilization;

typedef struct {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
} NvmlMemory;

typedef struct {
  unsigned int pid;
  unsigned long long used_gpu_memory;  // all ones = not available
  unsigned int gpu_instance_id;        // all ones = none
  unsigned int compute_instance_id;
} NvmlProcessInfo;  // of nvmlDeviceGetComputeRunningProcesses_v2 and _v3

}  // extern "C"
