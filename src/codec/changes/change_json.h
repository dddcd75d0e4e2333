// A Change as JSON and back: kind, nodes and what the kind adds. Drawn in docs/formats.md, "Changes".
//
// What is written reads back equal; durations to the millisecond. Names that are no UTF-8 cannot be kept: whoever prints the JSON
// replaces their bad bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "model/change.h"
#include "model/fleet_plan.h"

namespace stint {

nlohmann::ordered_json change_to_json(const Change& change);
/// @param object  as json_fields::parse_with_lines() gives it. Throws json_fields::Malformed.
Change change_from_json(const nlohmann::ordered_json& object);

/// What undoing a change needs, as a document by itself ("stint-undo/1"): the History keeps one with each change that was applied.
std::string write_undo(const FleetUndo& undo);
/// @param source  for messages.
Result<FleetUndo> read_undo(std::string_view bytes, const std::string& source);

}  // namespace stint
