// Holds: who held a machine's GPUs, finer than by tenant: each run, and each holder that telemetry names, on each machine.
#pragma once

#include <map>
#include <optional>

#include "model/fleet.h"
#include "model/tenant.h"
#include "model/workload.h"

namespace stint {

struct Hold {
  std::optional<uint32_t> run;  ///< index into History::runs
  HolderId holder;              ///< into History::holders, where there is no run
  NodeId node;
  Tenant tenant;  ///< whose it is
};

/// By the id that stands for a hold in a table of tenants (telemetry/hold_attribution.h). What is not in it is a tenant as a whole.
using HoldTable = std::map<TenantId, Hold>;

}  // namespace stint
