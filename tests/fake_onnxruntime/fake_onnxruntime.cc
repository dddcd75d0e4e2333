// A stand-in for an ONNX Runtime that was built with CUDA: the real one for the processor with its CUDA functions replaced, so that
// models "on the GPU" are computed by the processor. What it shows is set by the environment:
//   FAKE_ONNXRUNTIME_REAL  the library behind it
//   FAKE_ONNXRUNTIME_LOG   a file to which a line is added for each session with CUDA (its options) and each arena that is trimmed
//   FAKE_ONNXRUNTIME_FAIL  any text: the provider does not start
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include "serve/ort_abi.h"

namespace ort = stint::serve::ort;

/// What the provider is told of one session.
struct ort::CudaOptions {
  std::string told;
};

namespace {

constexpr size_t kSlots = 285;  // of the table's version 20
constexpr ort::Slot<ort::Status*(int, const char*)> kCreateStatus{0};
constexpr int kFailure = 1;

std::array<const void*, kSlots> table;
const ort::ApiBase* real = nullptr;

void note(const std::string& line) {
  if (const char* file = std::getenv("FAKE_ONNXRUNTIME_LOG")) std::ofstream(file, std::ios::app) << line << '\n';
}

ort::Status* providers(ort::Name** names, int* count) {
  static std::array<char, 32> cuda = {"CUDAExecutionProvider"}, cpu = {"CPUExecutionProvider"};
  static std::array<ort::Name, 2> all = {cuda.data(), cpu.data()};
  *names = all.data();
  *count = static_cast<int>(all.size());
  return nullptr;
}
ort::Status* release_providers(ort::Name*, int) { return nullptr; }

ort::Status* create(ort::CudaOptions** options) {
  *options = new ort::CudaOptions();
  return nullptr;
}
ort::Status* update(ort::CudaOptions* options, const char* const* names, const char* const* values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    options->told += std::string(i == 0 ? "" : " ") + names[i] + "=" + values[i];
  return nullptr;
}
void release(ort::CudaOptions* options) { delete options; }

ort::Status* append(ort::SessionOptions*, const ort::CudaOptions* options) {
  if (std::getenv("FAKE_ONNXRUNTIME_FAIL") != nullptr)
    return ort::at(table.data(), kCreateStatus)(kFailure, "libcudnn.so.9: cannot open shared object file");
  note(options->told);
  return nullptr;
}

/// The processor's provider has no arena of a GPU to shrink.
ort::Status* add_run_entry(ort::RunOptions* options, const char* name, const char* value) {
  note(std::string(name) + "=" + value);
  return ort::at(real->get_api(ort::kApiVersion), ort::kAddRunConfigEntry)(options, name, "cpu:0");
}

template <typename Function>
void put(ort::Slot<Function> slot, Function* function) {
  table[slot.position] = reinterpret_cast<const void*>(function);
}

const void* const* get_api(uint32_t version) {
  const void* const* from = real->get_api(version);
  if (from == nullptr) return nullptr;
  std::copy_n(from, kSlots, table.begin());
  put(ort::kAvailableProviders, providers);
  put(ort::kReleaseProviders, release_providers);
  put(ort::kAppendCuda, append);
  put(ort::kCreateCudaOptions, create);
  put(ort::kUpdateCudaOptions, update);
  put(ort::kReleaseCudaOptions, release);
  put(ort::kAddRunConfigEntry, add_run_entry);
  return table.data();
}

const char* version() { return real->version(); }

}  // namespace

extern "C" const ort::ApiBase* OrtGetApiBase() {
  static const ort::ApiBase base = {get_api, version};
  const char* library = std::getenv("FAKE_ONNXRUNTIME_REAL");
  void* handle = dlopen(library == nullptr ? "libonnxruntime.so" : library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  real = reinterpret_cast<ort::GetApiBase>(dlsym(handle, "OrtGetApiBase"))();
  return &base;
}
