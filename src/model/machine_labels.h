// What a machine is and where it stands, as labels that jobs can ask by: neighbours in one zone, a gang on one model.
#pragma once

#include <string_view>

#include "model/machine.h"

namespace stint {

/// Labels that every machine has beside those it was given, where it says them; one that was given counts as it is.
inline constexpr std::string_view kMachineLabels[] = {"gpu_model", "instance_type", "provider", "region", "zone"};

/// What the scheduler goes by, with these labels.
NodeSpec labelled(const Machine& machine);

}  // namespace stint
