#include "model/machine_labels.h"

#include <algorithm>
#include <iterator>

namespace stint {

NodeSpec labelled(const Machine& machine) {
  NodeSpec node = machine.node;
  const std::string_view values[] = {machine.node.gpu_model, machine.instance_type, machine.provider, machine.region,
                                     machine.zone};
  static_assert(std::size(values) == std::size(kMachineLabels));
  for (size_t i = 0; i < std::size(values); ++i)
    if (!values[i].empty() && std::ranges::find(node.labels, kMachineLabels[i], &Label::key) == node.labels.end())
      node.labels.push_back({std::string(kMachineLabels[i]), std::string(values[i])});
  return node;
}

}  // namespace stint
