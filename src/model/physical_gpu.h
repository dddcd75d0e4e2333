// Physical GPUs: which of the devices that telemetry measures are one card. A card cut by MIG appears as the
// whole GPU (power, temperature, clocks) and as its instances (activity, memory).
#pragma once

#include <span>
#include <vector>

#include "model/fleet.h"

namespace stint {

struct PhysicalGpu {
  NodeId node;
  int index = -1;                   ///< position in the node; −1 = not known
  std::vector<uint32_t> whole;      ///< indexes of its whole-GPU devices: usually one, none when only instances report
  std::vector<uint32_t> instances;  ///< indexes of its MIG instances
};

/// Groups devices by node, then UUID, else index. A MIG UUID ("MIG-…") names an instance and is not compared.
/// @param devices  in any order. @return ascending by the first device of each.
std::vector<PhysicalGpu> physical_gpus(std::span<const Device> devices);

}  // namespace stint
