// How to carry a Change out, and how to take it back: commands and configuration for whatever runs the fleet, ready to paste once
// the names in capitals are filled in. Names come from bills and labels that anybody may write: they are quoted for the syntax
// they stand in, and never run as commands.
#pragma once

#include <string>
#include <vector>

#include "advise/books.h"
#include "model/fleet_plan.h"

namespace stint {

enum class Syntax { kShell, kCrontab, kTerraform, kYaml, kConf };
std::string_view name_of(Syntax s);  // "shell", "crontab", "terraform", "yaml", "conf"

/// One thing to run, or to put into one file.
struct Instruction {
  std::string tool;  ///< "AWS, Google Cloud or Azure", "Kubernetes", "Slurm", "Terraform", …
  Syntax syntax = Syntax::kShell;
  std::vector<std::string> lines;
};

/// For every tool that can carry it out, in the order to use them; tools that have no part in it are left out.
/// @param before  the fleet without the change. @return error when a node is not in it.
Result<std::vector<Instruction>> instructions(const Change& change, const FleetPlan& before);

/// The way back, from the fleet with the change to the one without.
std::vector<Instruction> undo_instructions(const FleetUndo& undo);

/// The machines' own commands in the order to run them; lines that start with # explain. Other tools only where they must know.
/// @param plan  the books with the change applied.
std::vector<std::string> apply_text(const Change& change, const Books& plan);

}  // namespace stint
