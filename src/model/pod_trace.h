// A trace of pods for packing: nodes, pods, and the orders in which pods arrive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace stint {

struct PodTraceNode {
  std::string name;
  int64_t cpu_milli = 0;
  Bytes memory;
  int32_t gpus = 0;
  std::string gpu_model;
};

struct PodTracePod {
  std::string name;
  int64_t cpu_milli = 0;
  Bytes memory;
  int32_t gpus = 0;
  int32_t gpu_milli = 0;                ///< of each GPU: 1000, or less when `gpus` is 1; 0 without GPUs
  std::vector<std::string> gpu_models;  ///< ascending, each once; empty = any
};

struct PodArrivals {
  uint64_t seed = 0;           ///< of the shuffle that made the order: its name
  std::vector<uint32_t> pods;  ///< indexes into the pods
};

}  // namespace stint
