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
  kNvmlNotFound = 6,
  kNvmlInsufficientSize = 7,
  kNvmlDriverNotLoaded = 9,
  kNvmlTimeout = 10,
  kNvmlGpuIsLost = 15,
};
enum { kNvmlTemperatureGpu = 0 };
enum { kNvmlClockSm = 1, kNvmlClockMemory = 2 };
enum { kNvmlEccUncorrected = 1 };
enum { kNvmlEccSinceBoot = 0 };
enum : unsigned { kNvmlMigEnabled = 1 };
enum : unsigned long long { kNvmlEventXid = 8 };
typedef struct NvmlEventSetObject* NvmlEventSet;

typedef struct {
  NvmlDevice device;
  unsigned long long event_type;
  unsigned long long event_data;  // the XID
  unsigned int gpu_instance_id;
  unsigned int compute_instance_id;
} NvmlEventData;  // of nvmlEventSetWait_v2

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

typedef struct {
  unsigned int multiprocessors;
  unsigned int shared_copy_engines;
  unsigned int shared_decoders;
  unsigned int shared_encoders;
  unsigned int shared_jpeg;
  unsigned int shared_ofa;
  unsigned int gpu_instance_slices;
  unsigned int compute_instance_slices;
  unsigned long long memory_mib;
} NvmlAttributes;  // of nvmlDeviceGetAttributes_v2, of MIG devices alone

}  // extern "C"
