// Which machines come and go by demand, and what makes them: the object `power` of the daemon's configuration.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/capacity/clouds_capacity.h"
#include "base/result.h"
#include "base/time.h"
#include "capacity/capacity.h"
#include "capacity/simulated_cloud.h"
#include "sched/scaling.h"

namespace stint {

/// Machines that are there as far as they are needed: either some of the configuration, which are switched, or such as are made.
struct PowerPool {
  std::string name;
  std::vector<std::string> nodes;   ///< names, in the order in which they are switched on; each in one pool
  std::vector<CapacityPool> kinds;  ///< what is made; empty where there are nodes
  sched::ScalingRules rules;
};

struct PowerConfig {
  /// Told "up NODE" and "down NODE"; exits with 0 when the machine can be used, or is off.
  std::string program;
  /// The same as `start NAME…` and `stop NAME…` (backends/capacity/program_capacity.h). One of these; none = nothing is switched.
  std::vector<std::string> provider;
  bool provider_lists = false;
  std::optional<SimulatedCloudOptions> cloud;
  CloudSettings clouds;
  Duration every = Duration::seconds(30);  ///< pools are looked at that often
  Duration timeout = Duration::minutes(10);
  Duration ready_within = Duration::minutes(15);  ///< a machine that is made, from its order
  Currency currency;
  std::optional<Rate> most_burn;  ///< that all machines made cost an hour
  double spread = 1;              ///< part of a pool's spot machines that may be of one kind
  std::vector<PowerPool> pools;

  /// Something is switched or made.
  [[nodiscard]] bool is_on() const { return !program.empty() || !provider.empty() || cloud || clouds.is_on(); }
  /// Machines may come that the configuration does not name.
  [[nodiscard]] bool makes_machines() const;
};

class JsonFields;
struct FleetConfig;
/// @param fields  of that object; all are asked for here. @param fleet  the machines there are, and the currency.
Result<PowerConfig> read_power_config(JsonFields& fields, const FleetConfig& fleet);

}  // namespace stint
