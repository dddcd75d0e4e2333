// Slurm as its client programs show it: scontrol, squeue, sacct, scancel, asked in UTC.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

struct SlurmPrograms {
  std::string folder;                          ///< of the programs; empty = searched in PATH
  Duration patience = Duration::seconds(120);  ///< for each program

  /// @return what the program prints when it ends well. @return error naming the program and what to do.
  /// @param standard_input  what it reads; none = the caller's.
  [[nodiscard]] Result<std::string> ask(const std::string& program, const std::vector<std::string>& arguments,
                                        std::optional<std::string_view> standard_input = {}) const;
  /// The same for sbatch, with none of the caller's environment but what Slurm itself needs: a job gets what its sbatch has.
  [[nodiscard]] Result<std::string> ask_bare(const std::string& program, const std::vector<std::string>& arguments,
                                             std::string_view standard_input) const;

 private:
  [[nodiscard]] Result<std::string> run(std::vector<std::string> environment, const std::string& program,
                                        const std::vector<std::string>& arguments,
                                        std::optional<std::string_view> standard_input) const;
};

}  // namespace stint
