#include "serve/gpu.h"

#include <algorithm>

#include "base/counted.h"

namespace stint::serve {

Result<std::shared_ptr<Gpu>> Gpu::open(const GpuOptions& options, const std::string& library) {
  TRY_ASSIGN(Cuda cuda, Cuda::load(library));
  const size_t count = cuda.gpus().size();
  if (std::cmp_greater_equal(options.number, count))
    return make_error(ErrorCode::kUnavailable, "cuda:{}: this machine has {}, counted from 0", options.number,
                      counted(count, "GPU"));
  std::shared_ptr<Gpu> gpu(new Gpu(options, std::move(cuda)));
  TRY_ASSIGN(const MemoryUse use, gpu->memory({}));
  gpu->used_before_ = use.used;
  return gpu;
}

Result<MemoryUse> Gpu::memory(std::optional<Bytes> limit) const {
  const std::lock_guard lock(mutex_);
  TRY_ASSIGN(const CudaMemory memory, cuda_.memory(static_cast<size_t>(options_.number)));
  const Bytes own = std::max(Bytes(), memory.used - used_before_);
  return MemoryUse{std::min(limit.value_or(memory.total), memory.total), memory.used, own};
}

}  // namespace stint::serve
