// Source: Slurm manual, scontrol(1): update, "NodeName=", "State=DRAIN", "State=RESUME", "Reason=".
#include "backends/slurm/slurm_rest.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

constexpr std::string_view kRestsByUs = "stint-change";

bool is_drained(const SlurmMachine& machine) {
  for (const std::string_view word : split(machine.state, '+'))
    if (word.starts_with("DRAIN")) return true;  // also of Slurm's short forms with a mark at the end
  return false;
}

bool rests_by_us(const SlurmMachine& machine) { return machine.reason.starts_with(kRestsByUs); }

}  // namespace

std::vector<SlurmCommand> rest_commands(std::span<const SlurmMachine> machines, const std::set<std::string>& resting) {
  std::vector<SlurmCommand> commands;
  for (const SlurmMachine& machine : machines) {
    const bool is_to_rest = resting.contains(machine.name);
    if (is_to_rest && !is_drained(machine))
      commands.push_back({"scontrol", "update", "NodeName=" + machine.name, "State=DRAIN",
                          fmt::format("Reason={}: it rests until the change is taken back", kRestsByUs)});
    else if (!is_to_rest && is_drained(machine) && rests_by_us(machine))
      commands.push_back({"scontrol", "update", "NodeName=" + machine.name, "State=RESUME"});
  }
  return commands;
}

Status bring_to_rest(const SlurmPrograms& programs, const std::set<std::string>& resting) {
  TRY_ASSIGN(const std::string shown, programs.ask("scontrol", {"show", "node", "-o", "-d"}));
  TRY_ASSIGN(const std::vector<SlurmMachine> machines, read_slurm_machines(shown));
  for (const SlurmCommand& command : rest_commands(machines, resting))
    TRY(programs.ask(command.front(), {command.begin() + 1, command.end()}));
  return {};
}

}  // namespace stint
