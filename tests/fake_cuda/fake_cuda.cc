// A stand-in for libcuda.so and libcublas.so in one: same exports, no GPU. What it shows is set by the environment:
//   FAKE_CUDA_GPUS     how many GPUs (1)
//   FAKE_CUDA_FAIL     init: no driver; memory: nothing can be allocated; cublas: every product is refused
//   FAKE_CUDA_USED_MIB    memory in use (1024), of 80 GiB; or the file that tells it now
//   FAKE_CUDA_CAPABILITY  major compute capability (8)
// Time stands still but for the clock between events, which tells 10, 20, 30, 10, … ms.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "host/cuda_abi.h"

namespace {

int used_mib() {
  const char* text = std::getenv("FAKE_CUDA_USED_MIB");
  if (text == nullptr || *text != '/') return text == nullptr ? 1024 : std::atoi(text);
  int mib = 0;
  std::ifstream(text) >> mib;
  return mib;
}

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

bool fails(const char* how) {
  const char* text = std::getenv("FAKE_CUDA_FAIL");
  return text != nullptr && std::strcmp(text, how) == 0;
}

int held = 0;    // allocations, contexts, events, modules and handles not given back
int pushed = 0;  // contexts on the thread's stack
int timed = 0;   // times told since the events were made

template <typename Handle>
CudaStatus hand_out(Handle* handle) {
  *handle = reinterpret_cast<Handle>(static_cast<size_t>(++held));
  return kCudaSuccess;
}

CudaStatus take_back() {
  --held;
  return kCudaSuccess;
}

}  // namespace

extern "C" {

int fake_cuda_held() { return held; }

CudaStatus cuInit(unsigned) { return fails("init") ? kCudaNoDevice : kCudaSuccess; }
CudaStatus cuGetErrorName(CudaStatus status, const char** name) {
  *name = status == kCudaNoDevice ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_OUT_OF_MEMORY";
  return kCudaSuccess;
}
CudaStatus cuDeviceGetCount(int* count) {
  *count = setting("FAKE_CUDA_GPUS", 1);
  return kCudaSuccess;
}
CudaStatus cuDeviceGet(CudaDevice* device, int index) {
  *device = index;
  return kCudaSuccess;
}
CudaStatus cuDeviceGetName(char* name, int size, CudaDevice) {
  std::strncpy(name, "NVIDIA A100-SXM4-80GB", static_cast<size_t>(size));
  return kCudaSuccess;
}
CudaStatus cuDeviceTotalMem_v2(size_t* bytes, CudaDevice) {
  *bytes = size_t{80} << 30;
  return kCudaSuccess;
}
CudaStatus cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = size_t{80} << 30;
  *free = *total - (static_cast<size_t>(used_mib()) << 20);
  return pushed > 0 ? kCudaSuccess : kCudaOutOfMemory;
}
CudaStatus cuCtxPushCurrent_v2(CudaContext) {
  ++pushed;
  return kCudaSuccess;
}
CudaStatus cuCtxPopCurrent_v2(CudaContext*) {
  --pushed;
  return kCudaSuccess;
}
CudaStatus cuDeviceGetAttribute(int* value, int which, CudaDevice) {
  *value = which == kCudaMultiprocessorCount ? 108 : setting("FAKE_CUDA_CAPABILITY", 8);
  return kCudaSuccess;
}
CudaStatus cuDevicePrimaryCtxRetain(CudaContext* context, CudaDevice) {
  timed = 0;
  return hand_out(context);
}
CudaStatus cuDevicePrimaryCtxRelease_v2(CudaDevice) { return take_back(); }
CudaStatus cuCtxSetCurrent(CudaContext) { return kCudaSuccess; }
CudaStatus cuModuleLoadData(CudaModule* module, const void*) { return hand_out(module); }
CudaStatus cuModuleUnload(CudaModule) { return take_back(); }
CudaStatus cuModuleGetFunction(CudaFunction*, CudaModule, const char* name) {
  return std::strcmp(name, "stint_multiply_add") == 0 ? kCudaSuccess : kCudaNoDevice;
}
CudaStatus cuMemAlloc_v2(CudaAddress* address, size_t) {
  if (fails("memory")) return kCudaOutOfMemory;
  *address = static_cast<CudaAddress>(++held);
  return kCudaSuccess;
}
CudaStatus cuMemFree_v2(CudaAddress) { return take_back(); }
CudaStatus cuMemcpyHtoD_v2(CudaAddress, const void*, size_t) { return kCudaSuccess; }
CudaStatus cuMemcpyDtoDAsync_v2(CudaAddress, CudaAddress, size_t, CudaStream) { return kCudaSuccess; }
CudaStatus cuLaunchKernel(CudaFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaStream, void**,
                          void**) {
  return kCudaSuccess;
}
CudaStatus cuEventCreate(CudaEvent* event, unsigned) { return hand_out(event); }
CudaStatus cuEventDestroy_v2(CudaEvent) { return take_back(); }
CudaStatus cuEventRecord(CudaEvent, CudaStream) { return kCudaSuccess; }
CudaStatus cuEventSynchronize(CudaEvent) { return kCudaSuccess; }
CudaStatus cuEventElapsedTime(float* ms, CudaEvent, CudaEvent) {
  *ms = 10.0F * static_cast<float>(1 + timed++ % 3);
  return kCudaSuccess;
}

int cublasCreate_v2(CublasHandle* handle) { return hand_out(handle); }
int cublasDestroy_v2(CublasHandle) { return take_back(); }
int cublasGemmEx(CublasHandle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int, const void*,
                 void*, int, int, int, int) {
  return fails("cublas") ? 15 : 0;
}

}  // extern "C"
