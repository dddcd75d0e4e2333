// What the ways of writing a Change down share; not for others (advise/apply/apply_text.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/apply/apply_text.h"
#include "model/change_machines.h"

namespace stint {

using Lines = std::vector<std::string>;

/// Each node of `fleet` that the change names must be there.
Lines machine_lines(const Change& change, const FleetPlan& fleet);
/// Stop and start by the clock; empty but for ScheduleOff.
Lines crontab_lines(const Change& change, const FleetPlan& fleet);
std::vector<Instruction> kubernetes_instructions(const Change& change, const FleetPlan& fleet);
std::vector<Instruction> slurm_instructions(const Change& change, const FleetPlan& fleet);
Lines terraform_lines(const Change& change, const FleetPlan& fleet);

/// A command for later, as a comment that says when: "# when the work runs there: …".
std::string later(std::string_view when, std::string_view command);

using GpuPlace = std::pair<std::string, int>;
/// What is placed on each GPU, ascending by node and GPU.
std::map<GpuPlace, std::vector<const ShareGpus::Placement*>> by_gpu(const ShareGpus& change);
/// Nodes of the change that are not kept.
std::vector<std::string> given_back(const ShareGpus& change);

}  // namespace stint
