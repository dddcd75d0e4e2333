// What its caller asks a cluster's own tools to know of machines, so that others place nothing there either.
#pragma once

#include <map>
#include <string>

namespace stint {

struct MachineAsk {
  std::string drained;     ///< who keeps new work off it, and why; "" = no command does
  bool by_change = false;  ///< a change that was carried out lets it rest, whoever has put it to work since
  std::string broken;      ///< what of its GPUs cannot be used; "" = all can
  bool operator==(const MachineAsk&) const = default;
};
/// By machine; one that is not named is as usual.
using MachineAsks = std::map<std::string, MachineAsk, std::less<>>;

}  // namespace stint
