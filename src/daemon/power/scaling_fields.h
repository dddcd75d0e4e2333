// The rules of scaling as the daemon's configuration has them, for machines and for replicas.
#pragma once

#include "daemon/json_fields.h"
#include "sched/scaling.h"

namespace stint {

/// @param least, most  that there may be. @param usual_min  where `min` is not said; `max` is `most` then.
inline sched::ScalingRules read_scaling_rules(JsonFields& fields, int64_t least, int64_t most, int64_t usual_min) {
  sched::ScalingRules rules;
  rules.max_nodes = static_cast<int32_t>(fields.integer("max", least, most, most));
  rules.min_nodes = static_cast<int32_t>(fields.integer("min", least, rules.max_nodes, usual_min));
  rules.target_utilization = fields.number("target_utilization", 0.01, 1, rules.target_utilization);
  rules.up_cooldown = fields.duration("up_cooldown", rules.up_cooldown);
  rules.down_cooldown = fields.duration("down_cooldown", rules.down_cooldown);
  rules.idle_grace = fields.duration("idle_grace", rules.idle_grace);
  return rules;
}

}  // namespace stint
