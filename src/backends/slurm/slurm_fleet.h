// The machines of a Slurm as a backend tells of them: what is news since the last look. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/slurm/slurm_mirror.h"

namespace stint {

class SlurmFleet {
 public:
  /// @param configured  prices and places, by name; what a machine is made of Slurm says.
  explicit SlurmFleet(std::map<std::string, Machine, std::less<>> configured) : configured_(std::move(configured)) {}
  /// Machines that came, changed, take no work, take work again, and are gone.
  std::vector<MachineReport> look(const SlurmView& view);
  /// As of the last look, by name.
  [[nodiscard]] std::vector<MachineReport> machines() const;

 private:
  [[nodiscard]] MachineReport report_of(const SlurmMachine& machine, const SlurmView& view) const;
  [[nodiscard]] std::set<std::string, std::less<>> miscounted(const SlurmView& view) const;

  std::map<std::string, Machine, std::less<>> configured_;
  std::map<std::string, MachineReport, std::less<>> reports_;  ///< the last, by machine
  std::set<std::string, std::less<>> miscounted_;              ///< at the last look: GPUs in use, and no job
};

}  // namespace stint
