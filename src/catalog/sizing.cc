#include "catalog/sizing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace stint {
namespace {

/// Of the dense peak that one large matrix product reaches, where it was not measured: an assumption.
constexpr double kMatrixEfficiency = 0.7;
/// Of the rate of matrix products that a whole model reaches. With the above 0.35 of the peak: 0.38–0.43 are reported
/// for large runs (Llama 3, table 4; PaLM 0.46), less on small GPUs and short sequences.
constexpr double kModelShare = 0.5;
/// Of the data sheet's bandwidth that streaming kernels reach.
constexpr double kBandwidthEfficiency = 0.8;
/// Passes over a kept activation in a training step: written, read by the next layer, read by normalisation,
/// read in the backward pass, its gradient written and read.
constexpr double kTrainingPasses = 6;
/// Inference keeps nothing and fuses element-wise layers: about one pass over the same bytes.
constexpr double kForwardPasses = 1;
/// Kernel launches and host work of one forward pass.
constexpr double kLaunchSeconds = 0.002;
/// CUDA context, cuDNN/cuBLAS workspaces and the framework.
constexpr double kOverheadBytes = 1.0 * (1 << 30);
constexpr double kUsableShare = 0.9;
/// LoRA trains about this share of the parameters (Hu et al. 2021: well below 1 %).
constexpr double kLoraShare = 0.01;
/// Above this size training recomputes activations (full checkpointing), as every public recipe does.
constexpr double kRecomputeAbove = 1e9;

/// Bytes a transformer layer keeps per item at 16 bit: 34·s·h + 5·a·s² (Korthikanti et al. 2022, equation 2).
double layer_activation_bytes(const ModelFacts& m) {
  const double s = m.sequence;
  return 34.0 * s * m.hidden + 5.0 * m.heads * s * s;
}

/// Operations a second measured at that precision; none when another unit of the GPU would do the work.
std::optional<double> measured_flops(const GpuFacts& gpu, Precision p) {
  const bool half =
      p == Precision::k16Bit || (p == Precision::kFp8 && !gpu.fp8_tflops) || (p == Precision::kInt8 && !gpu.int8_tops);
  std::optional<double> tera;
  if (half)
    tera = gpu.measured.half_tflops;
  else if (p == Precision::kFp32)
    tera = gpu.tf32_tflops ? gpu.measured.tf32_tflops : gpu.measured.fp32_tflops;
  return tera ? std::optional(*tera * 1e12) : std::nullopt;
}

double matrix_flops(const GpuFacts& gpu, Precision p) {
  return measured_flops(gpu, p).value_or(peak_flops(gpu, p) * kMatrixEfficiency);
}

/// Bytes a second that streaming kernels reach.
double stream_bytes(const GpuFacts& gpu) {
  return 1e9 * gpu.measured.memory_gb_s.value_or(gpu.memory_bandwidth_gb_s * kBandwidthEfficiency);
}

/// The lower of the two roofs, as the time of work that needs both.
double roof_seconds(double flops, double bytes, const GpuFacts& gpu, Precision p) {
  return std::max(flops / (matrix_flops(gpu, p) * kModelShare), bytes / stream_bytes(gpu));
}

double width_factor(Precision p) { return bytes_per_value(p) / 2.0; }  // activations above are given at 16 bit

}  // namespace

Result<Precision> parse_precision(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Precision>, 6> kNames = {{{"fp32", Precision::kFp32},
                                                                             {"tf32", Precision::kFp32},
                                                                             {"bf16", Precision::k16Bit},
                                                                             {"fp16", Precision::k16Bit},
                                                                             {"fp8", Precision::kFp8},
                                                                             {"int8", Precision::kInt8}}};
  for (const auto& [name, precision] : kNames)
    if (equals_ignoring_case(name, trim(text))) return precision;
  return invalid("'{}' is no precision: use fp32, bf16, fp16, fp8 or int8", excerpt(text));
}

std::string_view name_of(Precision p) {
  constexpr std::array<std::string_view, 4> kNames = {"fp32", "bf16/fp16", "fp8", "int8"};
  return kNames[static_cast<size_t>(p)];
}

double bytes_per_value(Precision p) { return p == Precision::kFp32 ? 4 : p == Precision::k16Bit ? 2 : 1; }

double peak_flops(const GpuFacts& gpu, Precision p) {
  const double fp32 = gpu.tf32_tflops.value_or(gpu.fp32_tflops.value_or(0));
  const double half = std::max(gpu.bf16_tflops.value_or(gpu.fp16_tflops.value_or(0)), gpu.fp32_tflops.value_or(0));
  double tera = 0;
  switch (p) {
    case Precision::kFp32: tera = fp32; break;
    case Precision::k16Bit: tera = half; break;
    case Precision::kFp8: tera = gpu.fp8_tflops.value_or(half); break;
    case Precision::kInt8: tera = gpu.int8_tops.value_or(half); break;
  }
  return tera * 1e12;
}

std::string_view basis_of(const GpuFacts& gpu, Precision p) {
  const bool arithmetic = measured_flops(gpu, p).has_value();
  const bool memory = gpu.measured.memory_gb_s.has_value();
  return arithmetic && memory ? "measured" : arithmetic || memory ? "partly measured" : "estimated";
}

double forward_flops(const ModelFacts& m) {
  if (m.family == ModelFamily::kVision) return m.image_flops;
  const double s = m.sequence;
  return 2.0 * m.matmul_parameters * s + 4.0 * m.layers * s * s * m.hidden;
}

double activation_bytes(const ModelFacts& m) {
  return m.family == ModelFamily::kVision ? m.image_activations : m.layers * layer_activation_bytes(m);
}

double kv_bytes_per_token(const ModelFacts& m, Precision p) {
  const double head_dim = static_cast<double>(m.hidden) / std::max(1, m.heads);
  return 2.0 * m.layers * m.kv_heads * head_dim * std::max(1.0, bytes_per_value(p));
}

MemoryNeed training_memory(const ModelFacts& m, Precision p, Tuning tuning, double items) {
  MemoryNeed need;
  const double trained = tuning == Tuning::kLora ? m.parameters * kLoraShare : m.parameters;
  const bool mixed = p != Precision::kFp32;  // 16-bit weights and gradients, fp32 master copy and two Adam moments
  need.weights = m.parameters * (mixed ? 2.0 : 4.0);
  need.gradients = trained * (mixed ? 2.0 : 4.0);
  need.optimizer = trained * (mixed ? 12.0 : 8.0);  // Rajbhandari et al. 2020 (ZeRO), section 3.1
  const double width = mixed ? 1.0 : 2.0;
  if (m.family == ModelFamily::kDecoder && m.parameters >= kRecomputeAbove)
    need.activations = items * width * (2.0 * m.sequence * m.hidden * m.layers + 34.0 * m.sequence * m.hidden);
  else
    need.activations = items * width * activation_bytes(m);
  need.overhead = kOverheadBytes;
  return need;
}

MemoryNeed inference_memory(const ModelFacts& m, Precision p, double items, double tokens) {
  MemoryNeed need;
  need.weights = m.parameters * bytes_per_value(p);
  if (m.family == ModelFamily::kDecoder) {
    need.kv_cache = items * tokens * kv_bytes_per_token(m, p);
  } else {
    // Only one layer's output lives at a time.
    need.activations = items * width_factor(p) * activation_bytes(m) / std::max(1, m.layers);
  }
  need.overhead = kOverheadBytes;
  return need;
}

double usable_bytes(Bytes gpu_memory) { return static_cast<double>(gpu_memory.count()) * kUsableShare; }

double training_rate(const ModelFacts& m, const GpuFacts& gpu, Precision p) {
  // Large decoders run fused attention and wide matrices: their activation traffic hides behind arithmetic.
  const bool wide = m.family == ModelFamily::kDecoder && m.parameters >= kRecomputeAbove;
  const double bytes = wide ? 0.0 : kTrainingPasses * width_factor(p) * activation_bytes(m);
  return 1.0 / roof_seconds(3.0 * forward_flops(m), bytes, gpu, p);
}

double forward_seconds(const ModelFacts& m, const GpuFacts& gpu, Precision p, double batch) {
  const double weights = m.parameters * bytes_per_value(p);
  const double bytes = weights + batch * kForwardPasses * width_factor(p) * activation_bytes(m);
  return kLaunchSeconds + roof_seconds(batch * forward_flops(m), bytes, gpu, p);
}

double decode_step_seconds(const ModelFacts& m, const GpuFacts& gpu, Precision p, double batch, double context) {
  const double bytes = m.parameters * bytes_per_value(p) + batch * context * kv_bytes_per_token(m, p);
  return roof_seconds(2.0 * m.matmul_parameters * batch, bytes, gpu, p);
}

double prefill_seconds(const ModelFacts& m, const GpuFacts& gpu, Precision p, double tokens) {
  return roof_seconds(2.0 * m.matmul_parameters * tokens, m.parameters * bytes_per_value(p), gpu, p);
}

int64_t gpus_for_demand(double qps, double per_gpu_qps, double headroom) {
  CHECK(per_gpu_qps > 0 && headroom >= 0 && qps >= 0, "{} per second at {} each, headroom {}", qps, per_gpu_qps, headroom);
  constexpr double kRoundingSlack = 1e-9;  // 500 × 1.2 is 600, whatever the last bit says
  const double load = qps * (1.0 + headroom) / per_gpu_qps;
  return static_cast<int64_t>(std::floor(load + kRoundingSlack)) + 1;
}

}  // namespace stint
