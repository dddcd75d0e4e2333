#include "host/slurm_programs.h"

#include <cstdlib>

#include "host/fed_command.h"

namespace stint {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20;

}  // namespace

Result<std::string> SlurmPrograms::ask(const std::string& program, const std::vector<std::string>& arguments,
                                       std::optional<std::string_view> standard_input) const {
  // Without the last, lists of an array's tasks are cut short.
  return run({"TZ=UTC", "SLURM_TIME_FORMAT=standard", "SLURM_BITSTR_LEN=0"}, program, arguments, standard_input);
}

Result<std::string> SlurmPrograms::ask_bare(const std::string& program, const std::vector<std::string>& arguments,
                                            std::string_view standard_input) const {
  std::vector<std::string> environment = {"-i"};
  for (const char* name : {"PATH", "SLURM_CONF"})
    if (const char* value = std::getenv(name); value != nullptr) environment.push_back(fmt::format("{}={}", name, value));
  return run(std::move(environment), program, arguments, standard_input);
}

Result<std::string> SlurmPrograms::run(std::vector<std::string> environment, const std::string& program,
                                       const std::vector<std::string>& arguments,
                                       std::optional<std::string_view> standard_input) const {
  const std::string path = folder.empty() ? program : folder + "/" + program;
  std::vector<std::string> command = {"env"};
  command.insert(command.end(), environment.begin(), environment.end());
  command.push_back(path);
  command.insert(command.end(), arguments.begin(), arguments.end());
  TRY_ASSIGN(CommandOutput output, standard_input ? run_fed_command(command, *standard_input, patience, kMostBytes)
                                                  : run_command(command, patience, kMostBytes));
  if (output.status.shell_code() == 127)
    return make_error(ErrorCode::kNotFound,
                      "{}: no such program: install Slurm's client programs or name their folder with --slurm-programs", path);
  if (output.status.shell_code() != 0)
    return make_error(ErrorCode::kUnavailable, "{} ended with code {} (its message is above): does `{} {}` work here?", path,
                      output.status.shell_code(), program, fmt::join(arguments, " "));
  return std::move(output.standard_output);
}

}  // namespace stint
