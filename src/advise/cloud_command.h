// One cloud command for one machine: what `aws`, `gcloud` and `az` call the same thing.
#pragma once

#include <string>

#include "model/fleet_plan.h"

namespace stint {

enum class MachineAction { kStop, kStart, kGiveBack, kResize };

/// @param to_instance_type  kResize only. @return a line that starts with # for machines of no known provider.
std::string machine_command(const PlannedNode& node, MachineAction action, const std::string& to_instance_type = "");
/// Starts a machine like `node` on spot.
std::string spot_command(const PlannedNode& node);
/// Starts a machine like `node` on demand: one that was given back, or was bought on another market.
std::string create_command(const PlannedNode& node);
}  // namespace stint
