// What its caller asks a cluster's own tools to know of machines, so that others place nothing there either.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace stint {

struct MachineAsk {
  std::string drained;        ///< why no new work is to be placed there, for a person; "" = it may be
  bool is_uncertain = false;  ///< it takes no work for another reason at the moment, so `drained` is not known: it stays as it is
  std::string broken;         ///< what of its GPUs cannot be used; "" = all can
  bool operator==(const MachineAsk&) const = default;
};
/// By machine; one that is not named is as usual.
using MachineAsks = std::map<std::string, MachineAsk, std::less<>>;

/// Before the name of a machine that takes no work for a reason of its own: whether it is drained, too, is not known.
inline constexpr std::string_view kUncertainMachine = "?";

}  // namespace stint
