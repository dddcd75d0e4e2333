// Parallelism of a training run: how many ways data, tensor and pipeline parallel, how states are sharded, which micro-batch.
//
// Every (data, tensor, pipeline) whose product is the number of GPUs is tried with every sharding stage, every way of recomputing and
// every micro-batch that divides the batch; the best setting of each that fits in memory is ranked by the time of a step. So the answer
// is the optimum of the model of memory and time below, which is an estimate from data sheets.
//
// Memory of a GPU, with P parameters, d × t × p GPUs, stage z (Rajbhandari et al. 2020, "ZeRO", section 3 and figure 1): at 16 bit
// 2 bytes of weights, 2 of gradients and 12 of optimiser state (32 bit: 4, 4, 8) per parameter of P/(t·p); z ≥ 1 divides the last by
// d, z ≥ 2 gradients too, z = 3 (FSDP) all. Activations of a layer, s tokens, b sequences, width h, a heads (Korthikanti et al. 2022,
// "Reducing Activation Recomputation", equations 2, 4 and 5): s·b·h·(34 + 5·a·s/h)/t with sequence parallelism; 34/t when the
// attention core is recomputed; 2 when the layer is, and then one whole layer at a time. The first stage of a pipeline
// keeps min(p, m) micro-batches of L/p layers (1F1B: Narayanan et al. 2021, "Efficient Large-Scale Language Model Training", 2.2).
//
// Time of a step, m micro-batches: (m + p − 1)·(compute + tensor + hand-over) + what of data parallelism is not hidden.
// Tensor: 4 all-reduces of s·b·h values per layer (Shoeybi et al. 2019, "Megatron-LM", section 3), 6 when layers are recomputed; a ring
// moves 2(n−1)/n of a message. Data: stages 0 and 1 move 2(d−1)/d of the gradients once, stage 2 reduces in every micro-batch, stage 3
// gathers weights twice in every micro-batch as well (ZeRO, section 7); hidden behind the backward pass of the last micro-batch (0, 1), of
// all (2), behind all arithmetic (3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/sizing.h"

namespace stint {

struct ParallelJob {
  ModelFacts model;
  Precision precision = Precision::k16Bit;
  int64_t batch = 1;  ///< items of a step over all GPUs: sequences or images
};

struct ParallelCluster {
  GpuFacts gpu;
  int64_t gpus = 1;
  int64_t gpus_per_node = 1;  ///< that reach each other by `link`; the last machine may have fewer in use
  double link_gb_s = 0;       ///< 10⁹ bytes/s of one GPU, one direction, within a machine
  double network_gb_s = 0;    ///< the same between machines: the machine's network over its GPUs
};

enum class Recompute { kNone, kAttention, kLayers };
std::string_view name_of(Recompute r);  // "none", "attention", "layers"

struct ParallelShape {
  int64_t data = 1;
  int64_t tensor = 1;
  int64_t pipeline = 1;
  auto operator<=>(const ParallelShape&) const = default;
};

struct ParallelSetting {
  ParallelShape shape;
  int sharding = 0;  ///< ZeRO stage, 0 … 3
  Recompute recompute = Recompute::kNone;
  int64_t micro_batch = 1;    ///< items of one GPU group at a time
  int64_t micro_batches = 1;  ///< steps of accumulation: batch / (data × micro_batch)
};

/// Bytes of the fullest GPU.
struct ParallelMemory {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double overhead = 0;
  [[nodiscard]] double total() const { return weights + gradients + optimizer + activations + overhead; }
};
ParallelMemory parallel_memory(const ParallelJob& job, const ParallelSetting& setting);

/// Seconds of one step.
struct ParallelTime {
  double compute = 0;   ///< of the micro-batches
  double tensor = 0;    ///< all-reduces within layers
  double pipeline = 0;  ///< handing over between stages
  double bubble = 0;    ///< stages that wait at the beginning and the end
  double data = 0;      ///< gradients and sharded states, what is not hidden
  [[nodiscard]] double total() const { return compute + tensor + pipeline + bubble + data; }
};
ParallelTime parallel_time(const ParallelJob& job, const ParallelCluster& cluster, const ParallelSetting& setting);

struct ParallelOption {
  ParallelSetting setting;
  ParallelMemory memory;
  ParallelTime time;
  double items_per_s = 0;
  double flops_used_pct = 0;  ///< of the GPUs' dense peak, without recomputation (MFU)
};

struct ParallelRefusal {
  ParallelShape shape;
  std::string reason;
  double least_bytes = 0;  ///< what the leanest setting needs of a GPU; 0: refused for another reason
};

struct ParallelPlan {
  std::vector<ParallelOption> options;    ///< best first; ties: fewer pipeline stages, less tensor parallel
  std::vector<ParallelRefusal> refusals;  ///< by pipeline, then tensor; with the options every factorisation once
  int64_t settings_tried = 0;
  double usable_bytes = 0;
};

/// @return error when a number is out of range, or a rate of the GPU is not known. No option at all is no error: see refusals.
Result<ParallelPlan> plan_parallelism(const ParallelJob& job, const ParallelCluster& cluster);

/// Of one GPU, one direction: half of the total of NVLink or Infinity Fabric; without either PCIe 4.0 × 16, 31.5. In 10⁹ bytes/s.
double link_of(const GpuFacts& gpu);

}  // namespace stint
