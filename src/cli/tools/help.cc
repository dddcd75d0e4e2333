// stint help: the pages of --help by name; stint version.
#include <fmt/format.h>

#include <memory>

#include "base/nearest.h"
#include "cli/app.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/tools/help_page.h"

namespace stint {
namespace {

constexpr const char* kConnectionTopic = "connection";

ExitCode run_help(const CommandNode& root, const std::vector<std::string>& words) {
  const Screen screen = screen_of_stdout();
  if (words.size() == 1 && words[0] == kConnectionTopic)
    return write_output("", connection_page(root, screen)).ok() ? ExitCode::kOk : ExitCode::kFailed;
  const CommandNode* command = &root;
  for (const std::string& word : words) {
    const CommandNode* below = command->any_command(word);
    if (below == nullptr) {
      std::vector<std::string> names;
      for (const CommandNode& one : command->commands)
        names.push_back(one.name);
      if (command == &root) names.emplace_back(kConnectionTopic);
      tell("stint: there is no command '{} {}'{}\n", command->path, word, did_you_mean(word, names));
      return ExitCode::kUsage;
    }
    command = below;
  }
  return write_output("", help_page(*command, screen)).ok() ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace

void add_help_commands(Command& app, Action& action) {
  auto words = std::make_shared<std::vector<std::string>>();
  Command* help = app.add_subcommand("help", "Explains a command, or `connection`: how commands find the daemon");
  help->add_option("command", *words, "the command, such as plan commit; else all of them");
  help->footer("Example: stint help plan commit");
  help->callback([words, &app, &action] { action = [words, &app] { return run_help(command_tree(app), *words); }; });

  Command* version = app.add_subcommand("version", "Prints the version");
  version->callback(
      [&action] { action = [] { return write_output("", STINT_VERSION "\n").ok() ? ExitCode::kOk : ExitCode::kFailed; }; });
}

}  // namespace stint
