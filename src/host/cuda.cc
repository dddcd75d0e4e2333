#include "host/cuda.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>

#include "host/cuda_abi.h"
#include "host/cuda_kernel.h"

namespace stint {
namespace {

constexpr int kWarmUps = 3;
constexpr unsigned kThreadsPerBlock = 256;
constexpr unsigned kBlocksPerMultiprocessor = 32;
constexpr unsigned kRounds = 4096;
constexpr int kAmpere = 8;  // compute capability from which there are BF16 and TF32

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

template <typename Function>
bool find(const Library& library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library.get(), name));
  return function != nullptr;
}

}  // namespace

struct Cuda::Impl {
  // Names and parameters as in the reference manual.
  CudaStatus (*init)(unsigned) = nullptr;
  CudaStatus (*error_name)(CudaStatus, const char**) = nullptr;
  CudaStatus (*device_count)(int*) = nullptr;
  CudaStatus (*device_get)(CudaDevice*, int) = nullptr;
  CudaStatus (*device_name)(char*, int, CudaDevice) = nullptr;
  CudaStatus (*device_memory)(size_t*, CudaDevice) = nullptr;
  CudaStatus (*device_attribute)(int*, int, CudaDevice) = nullptr;
  CudaStatus (*context_retain)(CudaContext*, CudaDevice) = nullptr;
  CudaStatus (*context_release)(CudaDevice) = nullptr;
  CudaStatus (*context_set)(CudaContext) = nullptr;
  CudaStatus (*context_push)(CudaContext) = nullptr;
  CudaStatus (*context_pop)(CudaContext*) = nullptr;
  CudaStatus (*memory_info)(size_t*, size_t*) = nullptr;
  CudaStatus (*module_load)(CudaModule*, const void*) = nullptr;
  CudaStatus (*module_unload)(CudaModule) = nullptr;
  CudaStatus (*module_function)(CudaFunction*, CudaModule, const char*) = nullptr;
  CudaStatus (*allocate)(CudaAddress*, size_t) = nullptr;
  CudaStatus (*release)(CudaAddress) = nullptr;
  CudaStatus (*copy_to_gpu)(CudaAddress, const void*, size_t) = nullptr;
  CudaStatus (*copy_within)(CudaAddress, CudaAddress, size_t, CudaStream) = nullptr;
  CudaStatus (*launch)(CudaFunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaStream, void**,
                       void**) = nullptr;
  CudaStatus (*event_create)(CudaEvent*, unsigned) = nullptr;
  CudaStatus (*event_destroy)(CudaEvent) = nullptr;
  CudaStatus (*event_record)(CudaEvent, CudaStream) = nullptr;
  CudaStatus (*event_wait)(CudaEvent) = nullptr;
  CudaStatus (*event_elapsed_ms)(float*, CudaEvent, CudaEvent) = nullptr;

  Library library;
  std::vector<CudaDevice> devices;
  std::vector<CudaGpu> gpus;
  std::map<size_t, CudaContext> kept;  ///< by GPU: for memory()

  ~Impl() {
    for (const auto& [gpu, context] : kept)
      context_release(devices[gpu]);
  }

  bool find_all() {
    return find(library, init, "cuInit") && find(library, error_name, "cuGetErrorName") &&
           find(library, device_count, "cuDeviceGetCount") && find(library, device_get, "cuDeviceGet") &&
           find(library, device_name, "cuDeviceGetName") && find(library, device_memory, "cuDeviceTotalMem_v2") &&
           find(library, device_attribute, "cuDeviceGetAttribute") && find(library, context_retain, "cuDevicePrimaryCtxRetain") &&
           find(library, context_release, "cuDevicePrimaryCtxRelease_v2") && find(library, context_set, "cuCtxSetCurrent") &&
           find(library, context_push, "cuCtxPushCurrent_v2") && find(library, context_pop, "cuCtxPopCurrent_v2") &&
           find(library, memory_info, "cuMemGetInfo_v2") && find(library, module_load, "cuModuleLoadData") &&
           find(library, module_unload, "cuModuleUnload") && find(library, module_function, "cuModuleGetFunction") &&
           find(library, allocate, "cuMemAlloc_v2") && find(library, release, "cuMemFree_v2") &&
           find(library, copy_to_gpu, "cuMemcpyHtoD_v2") && find(library, copy_within, "cuMemcpyDtoDAsync_v2") &&
           find(library, launch, "cuLaunchKernel") && find(library, event_create, "cuEventCreate") &&
           find(library, event_destroy, "cuEventDestroy_v2") && find(library, event_record, "cuEventRecord") &&
           find(library, event_wait, "cuEventSynchronize") && find(library, event_elapsed_ms, "cuEventElapsedTime");
  }

  [[nodiscard]] Status check(CudaStatus status, std::string_view what) const {
    if (status == kCudaSuccess) return {};
    const char* name = nullptr;
    if (error_name(status, &name) != kCudaSuccess || name == nullptr) name = "unknown error";
    std::string_view remedy = "run nvidia-smi to see what the driver says";
    if (status == kCudaNoDevice) remedy = "run where a GPU is (in a container: with the NVIDIA runtime)";
    if (status == kCudaOutOfMemory) remedy = "other work holds the GPU's memory: measure on an idle GPU";
    return make_error(ErrorCode::kUnavailable, "CUDA: {}: {}: {}", what, name, remedy);
  }

  Status start() {
    TRY(check(init(0), "cannot start"));
    int count = 0;
    TRY(check(device_count(&count), "cannot count the GPUs"));
    if (count == 0) TRY(check(kCudaNoDevice, "there is no GPU"));
    for (int i = 0; i < count; ++i) {
      CudaDevice device = 0;
      std::array<char, 128> name = {};
      size_t bytes = 0;
      TRY(check(device_get(&device, i), "a GPU"));
      TRY(check(device_name(name.data(), static_cast<int>(name.size()) - 1, device), "a GPU's name"));
      TRY(check(device_memory(&bytes, device), "a GPU's memory"));
      devices.push_back(device);
      gpus.push_back({name.data(), Bytes::of(static_cast<int64_t>(bytes))});
    }
    return {};
  }

  Result<CudaMemory> memory(size_t gpu) {
    CudaContext& context = kept[gpu];
    if (context == nullptr) {
      if (const Status made = check(context_retain(&context, devices[gpu]), "a GPU's context"); !made.ok()) {
        kept.erase(gpu);
        return made.error();
      }
    }
    // Others on this thread have their own contexts.
    TRY(check(context_push(context), "a GPU's context"));
    size_t free = 0, total = 0;
    const Status told = check(memory_info(&free, &total), "a GPU's memory");
    CudaContext popped = nullptr;
    TRY(check(context_pop(&popped), "a GPU's context"));
    if (!told.ok()) return told.error();
    return CudaMemory{Bytes::of(static_cast<int64_t>(total - free)), Bytes::of(static_cast<int64_t>(total))};
  }

  Result<int> attribute(CudaDevice device, int which) const {
    int value = 0;
    TRY(check(device_attribute(&value, which, device), "a GPU's attributes"));
    return value;
  }
};

namespace {

/// What a measurement holds on the GPU; given back when it ends, in the reverse order.
class Holdings {
 public:
  Holdings() = default;
  Holdings(const Holdings&) = delete;
  Holdings& operator=(const Holdings&) = delete;
  ~Holdings() {
    for (auto it = give_back_.rbegin(); it != give_back_.rend(); ++it)
      (*it)();
  }
  void add(std::function<void()> give_back) { give_back_.push_back(std::move(give_back)); }

 private:
  std::vector<std::function<void()>> give_back_;
};

/// The measurements of one GPU, in its context. `Driver` is Cuda::Impl, which only Cuda may name.
template <typename Driver>
class Bench {
 public:
  Bench(const Driver& driver, CudaDevice device, const BenchOptions& options)
      : driver_(driver), device_(device), options_(options) {}

  Result<BenchResult> run() {
    CudaContext context = nullptr;
    TRY(driver_.check(driver_.context_retain(&context, device_), "no context on the GPU"));
    held_.add([this] { driver_.context_release(device_); });
    TRY(driver_.check(driver_.context_set(context), "the GPU's context"));
    for (CudaEvent* event : {&begin_, &end_}) {
      TRY(driver_.check(driver_.event_create(event, 0), "no event"));
      held_.add([this, made = *event] { driver_.event_destroy(made); });
    }
    TRY(measure_arithmetic());
    TRY(measure_copy());
    TRY(measure_matrices());
    return std::move(result_);
  }

 private:
  Result<CudaAddress> allocate(size_t bytes, Holdings& held) {
    CudaAddress address = 0;
    TRY(driver_.check(driver_.allocate(&address, bytes),
                      fmt::format("no {:.1f} GiB of memory", static_cast<double>(bytes) / (1 << 30))));
    held.add([this, address] { driver_.release(address); });
    return address;
  }

  /// Runs `once` until warm and then timed. @param work  of one run, in the unit of the rate × seconds.
  Status repeat(std::string rate, double work, const std::function<Status()>& once) {
    for (int i = 0; i < kWarmUps; ++i)
      TRY(once());
    std::vector<double> rates;
    for (int i = 0; i < options_.repeats; ++i) {
      TRY(driver_.check(driver_.event_record(begin_, nullptr), rate));
      TRY(once());
      TRY(driver_.check(driver_.event_record(end_, nullptr), rate));
      TRY(driver_.check(driver_.event_wait(end_), rate));
      float ms = 0;
      TRY(driver_.check(driver_.event_elapsed_ms(&ms, begin_, end_), rate));
      if (!(ms > 0)) return make_error(ErrorCode::kUnavailable, "CUDA: {}: the driver's clock did not move: try again", rate);
      rates.push_back(work / (static_cast<double>(ms) / 1e3));
    }
    std::sort(rates.begin(), rates.end());
    result_.figures.push_back({std::move(rate), rates[rates.size() / 2], rates.front(), rates.back()});
    return {};
  }

  Status measure_arithmetic() {
    Holdings held;
    CudaModule module = nullptr;
    const std::string ptx = multiply_add_ptx();
    TRY(driver_.check(driver_.module_load(&module, ptx.c_str()), "the driver does not take the kernel"));
    held.add([this, module] { driver_.module_unload(module); });
    CudaFunction function = nullptr;
    TRY(driver_.check(driver_.module_function(&function, module, kMultiplyAddName), "the kernel"));
    TRY_ASSIGN(const int multiprocessors, driver_.attribute(device_, kCudaMultiprocessorCount));
    const unsigned blocks = kBlocksPerMultiprocessor * static_cast<unsigned>(multiprocessors);
    const size_t threads = size_t{blocks} * kThreadsPerBlock;
    TRY_ASSIGN(CudaAddress sums, allocate(threads * sizeof(float), held));
    unsigned rounds = kRounds;
    void* parameters[] = {&sums, &rounds};
    const double operations = 2.0 * kMultiplyAddsPerRound * kRounds * static_cast<double>(threads);
    return repeat("fp32_tflops", operations / 1e12, [&] {
      return driver_.check(
          driver_.launch(function, blocks, 1, 1, kThreadsPerBlock, 1, 1, 0, nullptr, static_cast<void**>(parameters), nullptr),
          "the kernel does not start");
    });
  }

  /// Counts what is read and what is written, as data sheets do.
  Status measure_copy() {
    Holdings held;
    const auto bytes = static_cast<size_t>(options_.copy.count());
    TRY_ASSIGN(const CudaAddress from, allocate(bytes, held));
    TRY_ASSIGN(const CudaAddress to, allocate(bytes, held));
    return repeat("memory_gb_s", 2.0 * static_cast<double>(bytes) / 1e9,
                  [&] { return driver_.check(driver_.copy_within(to, from, bytes, nullptr), "copy within the GPU"); });
  }

  Status measure_matrices() {
    Library library;
    const std::vector<std::string> names = options_.cublas.empty()
                                               ? std::vector<std::string>{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}
                                               : std::vector{options_.cublas};
    for (const std::string& name : names)
      if (library.reset(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)); library) break;
    int (*create)(CublasHandle*) = nullptr;
    int (*destroy)(CublasHandle) = nullptr;
    CublasGemm multiply = nullptr;
    if (!library || !find(library, create, "cublasCreate_v2") || !find(library, destroy, "cublasDestroy_v2") ||
        !find(library, multiply, "cublasGemmEx"))
      return absent("matrix rates (tf32, 16 bit): cuBLAS is not here: install libcublas");
    Holdings held;
    CublasHandle handle = nullptr;
    if (create(&handle) != 0) return absent("matrix rates (tf32, 16 bit): cuBLAS does not start on this GPU");
    held.add([destroy, handle] { destroy(handle); });
    TRY_ASSIGN(const int capability, driver_.attribute(device_, kCudaComputeCapabilityMajor));
    const bool ampere = capability >= kAmpere;
    TRY(measure_product(multiply, handle, "16bit_tflops", ampere ? kCublasBrain16 : kCublasReal16, kCublasCompute32));
    if (!ampere) return absent("tf32: this GPU has none");
    return measure_product(multiply, handle, "tf32_tflops", kCublasReal32, kCublasCompute32FastTf32);
  }

  Status measure_product(CublasGemm multiply, CublasHandle handle, const std::string& rate, int type, int compute) {
    Holdings held;
    const int n = options_.matrix;
    const size_t bytes = static_cast<size_t>(n) * static_cast<size_t>(n) * (type == kCublasReal32 ? 4 : 2);
    std::array<CudaAddress, 3> matrices = {};
    for (CudaAddress& matrix : matrices) {
      TRY_ASSIGN(matrix, allocate(bytes, held));
      TRY(fill(matrix, bytes));
    }
    // The driver hands out addresses as integers, cuBLAS takes pointers.  NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto pointer = [&](size_t i) { return reinterpret_cast<void*>(static_cast<uintptr_t>(matrices[i])); };
    const float one = 1, zero = 0;
    int code = 0;
    const Status status = repeat(rate, 2.0 * n * n * n / 1e12, [&]() -> Status {
      code = multiply(handle, 0, 0, n, n, n, &one, pointer(0), type, n, pointer(1), type, n, &zero, pointer(2), type, n, compute,
                      kCublasDefault);
      if (code != 0) return make_error(ErrorCode::kUnavailable, "cuBLAS refuses, code {}", code);
      return {};
    });
    return code != 0 ? absent(fmt::format("{}: {}", rate, status.error().message)) : status;
  }

  /// Values that differ: multiplying zeros draws less power, and the GPU would run at clocks no real work sees.
  /// The high byte of each pair makes every 16-bit and 32-bit number small and finite.
  Status fill(CudaAddress matrix, size_t bytes) {
    constexpr size_t kPiece = 1 << 20;
    std::vector<uint16_t> piece(kPiece / 2);
    uint32_t state = 2463534242;  // xorshift32, Marsaglia 2003
    for (uint16_t& value : piece) {
      state ^= state << 13;
      state ^= state >> 17;
      state ^= state << 5;
      value = static_cast<uint16_t>(0x3000 | (state & 0x87FF));
    }
    for (size_t at = 0; at < bytes; at += kPiece)
      TRY(driver_.check(driver_.copy_to_gpu(matrix + at, piece.data(), std::min(kPiece, bytes - at)), "copy to the GPU"));
    return {};
  }

  Status absent(std::string why) {
    result_.absent.push_back(std::move(why));
    return {};
  }

  const Driver& driver_;
  CudaDevice device_;
  const BenchOptions& options_;
  CudaEvent begin_ = nullptr;
  CudaEvent end_ = nullptr;
  BenchResult result_;
  Holdings held_;
};

}  // namespace

Cuda::Cuda(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Cuda::Cuda(Cuda&&) noexcept = default;
Cuda& Cuda::operator=(Cuda&&) noexcept = default;
Cuda::~Cuda() = default;

Result<Cuda> Cuda::load(const std::string& library) {
  auto impl = std::make_unique<Impl>();
  impl->library.reset(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!impl->library)
    return make_error(ErrorCode::kUnavailable,
                      "CUDA: {} is not here, so no GPU can be used: install the NVIDIA driver, or run where it is", library);
  if (!impl->find_all())
    return make_error(ErrorCode::kUnavailable, "CUDA: {} is no CUDA driver, or older than CUDA 11: update the driver", library);
  TRY(impl->start());
  return Cuda(std::move(impl));
}

const std::vector<CudaGpu>& Cuda::gpus() const { return impl_->gpus; }

Result<CudaMemory> Cuda::memory(size_t gpu) {
  CHECK(gpu < impl_->devices.size(), "GPU {} of {}", gpu, impl_->devices.size());
  return impl_->memory(gpu);
}

Result<BenchResult> Cuda::measure(size_t gpu, const BenchOptions& options) {
  CHECK(gpu < impl_->devices.size(), "GPU {} of {}", gpu, impl_->devices.size());
  CHECK(options.repeats > 0 && options.matrix > 0 && options.copy.count() > 0, "{} repeats", options.repeats);
  return Bench<Impl>(*impl_, impl_->devices[gpu], options).run();
}

}  // namespace stint
