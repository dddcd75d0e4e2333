// stint keeper: what the daemon starts beside each task. Not for people, so help does not show it.
#include "backends/local/keeper.h"

#include <memory>

#include "cli/cli.h"
#include "cli/parser.h"

namespace stint {

void add_keeper_command(Command& app, Action& action) {
  auto folder = std::make_shared<std::string>();
  Command* command = app.add_subcommand("keeper", "Keeps one task of the daemon")->group("");
  command->add_option("FOLDER", *folder, "of the task")->required();
  command->callback([folder, &action] { action = [folder] { return static_cast<ExitCode>(run_keeper(*folder)); }; });
}

}  // namespace stint
