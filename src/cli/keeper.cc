// stint keeper: what the daemon starts beside each task. Not for people, so help does not show it.
#include "backends/keeper.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/cli.h"

namespace stint {

void add_keeper_command(CLI::App& app, Action& action) {
  auto folder = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("keeper", "Keeps one task of the daemon")->group("");
  command->add_option("FOLDER", *folder, "of the task")->required();
  command->callback([folder, &action] { action = [folder] { return static_cast<ExitCode>(run_keeper(*folder)); }; });
}

}  // namespace stint
