// Another configuration of a fleet that has a history: what of it the books can follow.
#pragma once

#include "daemon/engine/engine_books.h"

namespace stint {

/// Queues in the order of their ids, new ones behind: where they stand in the file does not matter.
/// @return kConflict: a queue that jobs and bills name is gone.
Result<FleetConfig> in_known_order(const EngineBooks& books, FleetConfig next);
/// As it would be read back from its record: what that does not say, or says in other words, makes no other fleet.
Result<FleetConfig> as_recorded(const EngineBooks& books, const FleetConfig& next);
/// What a running scheduler cannot follow is refused here, before it is written. @return kConflict naming it
Status check_fleet_change(const EngineBooks& books, const FleetConfig& next);

}  // namespace stint
