// One cloud command for one machine: what `aws`, `gcloud` and `az` call the same thing.
#pragma once

#include <string>

#include "advise/node_facts.h"

namespace stint {

enum class MachineAction { kStop, kStart, kGiveBack, kResize };

/// @param to_instance_type  kResize only. @return a line that starts with # for machines of no known provider.
std::string machine_command(const NodeFacts& node, MachineAction action, const std::string& to_instance_type = "");
/// Starts a machine of that type on spot, where `node` is.
std::string spot_command(const NodeFacts& node, const std::string& instance_type);
/// For a shell: unchanged when it is plain, else in single quotes.
std::string quoted(const std::string& text);

}  // namespace stint
