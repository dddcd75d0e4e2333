// Sizing: how much memory a model needs and how fast a GPU can run it at best, from data-sheet facts.
//
// Throughput is a roofline (Williams, Waterman, Patterson 2009): the lower of compute and memory traffic, each at a
// stated fraction of the data sheet. Where a rate was measured on that GPU model, the measurement takes its place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "catalog/catalog.h"

namespace stint {

enum class Precision { kFp32, k16Bit, kFp8, kInt8 };       // k16Bit: BF16, or FP16 where the GPU has no BF16
Result<Precision> parse_precision(std::string_view text);  // "fp32", "tf32", "bf16", "fp16", "fp8", "int8"
std::string_view name_of(Precision p);
double bytes_per_value(Precision p);

/// Dense peak of `gpu` in operations per second; the next wider format where the hardware lacks this one.
double peak_flops(const GpuFacts& gpu, Precision p);

/// What the throughput of `gpu` rests on: "measured" (arithmetic and memory), "partly measured" or "estimated".
std::string_view basis_of(const GpuFacts& gpu, Precision p);

enum class ModelFamily { kEncoder, kDecoder, kVision };

struct ModelFacts {
  std::string name;
  ModelFamily family = ModelFamily::kDecoder;
  double parameters = 0;
  double matmul_parameters = 0;  ///< without embedding tables, which cost memory but no arithmetic
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;              ///< below `heads` with grouped-query attention
  int sequence = 0;              ///< tokens of one item; vision: 0
  double image_flops = 0;        ///< vision: forward, one image
  double image_activations = 0;  ///< vision: bytes kept for the backward pass at 16 bit, one image
  std::string source;
};

/// Models with published shapes.
std::span<const ModelFacts> known_models();
/// By name, without case; nullptr when it is not known.
const ModelFacts* find_model(std::string_view name);
/// A decoder of that size with the usual proportions (hidden = 128 × layers, parameters = 12 × layers × hidden²).
/// @param parameters  1e6 … 1e13.
ModelFacts decoder_of_size(double parameters);

/// Forward arithmetic of one item: a sequence, or an image.
double forward_flops(const ModelFacts& m);
/// Bytes kept for the backward pass, one item, without recomputation.
double activation_bytes(const ModelFacts& m);
/// Key/value cache of one token.
double kv_bytes_per_token(const ModelFacts& m, Precision p);

enum class Tuning { kFull, kLora };

struct MemoryNeed {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  ///< per GPU; the rest is for the whole model and may be sharded
  double kv_cache = 0;
  double overhead = 0;  ///< per GPU: CUDA context and framework
  [[nodiscard]] double total() const { return weights + gradients + optimizer + activations + kv_cache + overhead; }
  /// Per GPU when weights, gradients, optimiser state and cache are spread over `gpus` (ZeRO-3, tensor parallel).
  [[nodiscard]] double per_gpu(int64_t gpus) const {
    return (weights + gradients + optimizer + kv_cache) / static_cast<double>(gpus) + activations + overhead;
  }
};

/// @param items  items (sequences, images) in flight on one GPU.
MemoryNeed training_memory(const ModelFacts& m, Precision p, Tuning tuning, double items);
/// @param items  sequences or images in flight. @param tokens  of one sequence, prompt and answer; for the cache.
MemoryNeed inference_memory(const ModelFacts& m, Precision p, double items, double tokens);

/// What of a GPU's memory a job can count on: the allocator's fragmentation takes the rest.
double usable_bytes(Bytes gpu_memory);

/// Training items a second on one GPU.
double training_rate(const ModelFacts& m, const GpuFacts& gpu, Precision p);
/// Time of one forward pass over `batch` items.
double forward_seconds(const ModelFacts& m, const GpuFacts& gpu, Precision p, double batch);
/// Time of one decoding step of `batch` sequences with `context` tokens each.
double decode_step_seconds(const ModelFacts& m, const GpuFacts& gpu, Precision p, double batch, double context);

/// Time to read a prompt of `tokens`.
double prefill_seconds(const ModelFacts& m, const GpuFacts& gpu, Precision p, double tokens);

/// The fewest GPUs whose capacity lies above qps × (1 + headroom): at exactly that load a queue still grows without
/// bound. 500 at 200 each are 3 GPUs, with 20 % headroom 4 (600 would leave nothing of 600).
/// @param per_gpu_qps  above zero. @param headroom  0.2 = 20 %. @return at least 1.
int64_t gpus_for_demand(double qps, double per_gpu_qps, double headroom);

}  // namespace stint
