// What a plan of infrastructure (Terraform) is about to do to machines, before anybody pays for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/price.h"

namespace stint {

/// Machines that are alike.
struct MachineGroup {
  std::string provider;  ///< "aws", "gcp", "azure"
  std::string instance_type;
  std::string region;  ///< empty = the plan does not say
  Market market = Market::kOnDemand;
  int64_t count = 0;  ///< running as planned
  int64_t least = 0;  ///< where an autoscaler decides: its bounds; else as `count`
  int64_t most = 0;
  std::string accelerator;   ///< GPUs attached to a machine type that has none, as the provider names them
  int64_t accelerators = 0;  ///< per machine
};

enum class PlannedAction : uint8_t { kCreate, kUpdate, kReplace, kDelete, kKeep };

/// One resource of the plan that runs machines.
struct PlannedMachines {
  std::string address;  ///< as the plan names it: "module.train.aws_instance.worker[0]"
  PlannedAction action = PlannedAction::kKeep;
  std::optional<MachineGroup> before;  ///< none = there are none, or `problem` says why they are not known
  std::optional<MachineGroup> after;
  std::string note;     ///< an assumption that was needed
  std::string problem;  ///< why it cannot be estimated; empty = it can
};

struct InfrastructurePlan {
  std::vector<PlannedMachines> machines;  ///< in the plan's order
  int64_t others = 0;                     ///< resources that run no machines
};

}  // namespace stint
