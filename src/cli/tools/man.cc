// stint man: the manual pages of this program.
#include <memory>

#include "base/nearest.h"
#include "cli/app.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/tools/man_page.h"

namespace stint {
namespace {

struct ManArguments {
  std::string command;
  std::string folder;
};

Status write_pages(const CommandNode& root, const std::string& folder) {
  TRY(write_output(folder + "/" + root.name + ".1", man_page_of_program(root, STINT_VERSION)));
  for (const CommandNode& command : root.commands)
    TRY(write_output(fmt::format("{}/{}-{}.1", folder, root.name, command.name),
                     man_page_of_command(root, command, STINT_VERSION)));
  return {};
}

Status run_man(const CommandNode& root, const ManArguments& arguments) {
  if (!arguments.folder.empty()) return write_pages(root, arguments.folder);
  if (arguments.command.empty()) return write_output("", man_page_of_program(root, STINT_VERSION));
  const CommandNode* command = root.command(arguments.command);
  if (command == nullptr) {
    std::vector<std::string> names;
    for (const CommandNode& one : root.commands)
      names.push_back(one.name);
    return invalid("there is no command '{}'{}", arguments.command, did_you_mean(arguments.command, names));
  }
  return write_output("", man_page_of_command(root, *command, STINT_VERSION));
}

}  // namespace

void add_man_command(Command& app, Action& action) {
  auto arguments = std::make_shared<ManArguments>();
  Command* command = app.add_subcommand("man", "Prints a manual page, for `man -l -`");
  command->add_option("command", arguments->command, "whose page; else that of the whole program");
  command->add_option("--folder", arguments->folder, "write all pages into this folder, as stint.1 and stint-COMMAND.1");
  command->footer("Example: stint man daemon | man -l -");
  command->callback([arguments, &app, &action] {
    action = [arguments, &app] {
      const Status done = run_man(command_tree(app), *arguments);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
