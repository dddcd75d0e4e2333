// Which machines are switched on and off by demand, and by what program: the object `power` of the daemon's configuration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sched/scaling.h"

namespace stint {

/// Machines that are on as far as they are needed.
struct PowerPool {
  std::string name;
  std::vector<std::string> nodes;  ///< names, in the order in which they are switched on; each in one pool
  sched::ScalingRules rules;
};

struct PowerConfig {
  /// Told "up NODE" and "down NODE"; exits with 0 when the machine can be used, or is off. Empty = nothing is switched.
  std::string program;
  Duration every = Duration::seconds(30);  ///< pools are looked at that often
  Duration timeout = Duration::minutes(10);
  std::vector<PowerPool> pools;
};

class JsonFields;
/// @param fields  of that object; all are asked for here. @param known  names of the machines there are.
Result<PowerConfig> read_power_config(JsonFields& fields, const std::vector<std::string>& known);

}  // namespace stint
