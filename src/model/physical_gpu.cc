#include "model/physical_gpu.h"

#include <map>
#include <string_view>
#include <utility>

namespace stint {

std::vector<PhysicalGpu> physical_gpus(std::span<const Device> devices) {
  std::vector<PhysicalGpu> gpus;
  std::map<std::pair<NodeId, std::string_view>, size_t> by_uuid;
  std::map<std::pair<NodeId, int>, size_t> by_index;
  for (uint32_t d = 0; d < devices.size(); ++d) {
    const Device& device = devices[d];
    const bool names_card = !device.uuid.empty() && !device.uuid.starts_with("MIG-");
    size_t gpu = gpus.size();
    if (names_card) {
      if (const auto it = by_uuid.find({device.node, device.uuid}); it != by_uuid.end()) gpu = it->second;
    } else if (device.index >= 0) {
      if (const auto it = by_index.find({device.node, device.index}); it != by_index.end()) gpu = it->second;
    }
    if (gpu == gpus.size()) gpus.push_back({device.node, device.index, {}, {}});
    if (names_card) by_uuid.try_emplace({device.node, device.uuid}, gpu);
    if (device.index >= 0) by_index.try_emplace({device.node, device.index}, gpu);
    (device.mig ? gpus[gpu].instances : gpus[gpu].whole).push_back(d);
  }
  return gpus;
}

}  // namespace stint
