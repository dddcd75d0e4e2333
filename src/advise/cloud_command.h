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
/// For a shell: unchanged when it is plain, else in single quotes.
std::string quoted(const std::string& text);
/// quoted(), and never taken for an option where a command expects a name.
std::string operand(const std::string& name);
/// As JSON, YAML and most configuration write a string, the quotes included.
std::string json_quoted(const std::string& text);
/// Safe on a line of a comment, whatever syntax it is in: control characters are blanks.
std::string one_line(const std::string& text);

}  // namespace stint
