// stint completion: the shells' functions; and stint complete, which they call and no person does, so help does not show it.
#include <memory>

#include "cli/app.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/live_values.h"
#include "cli/tools/complete.h"

namespace stint {

void add_completion_commands(Command& app, Action& action) {
  auto shell = std::make_shared<std::string>();
  Command* script = app.add_subcommand("completion", "Prints what makes a shell complete this program's command lines");
  script->add_option("shell", *shell, "bash, zsh or fish")->required()->check(one_of({"bash", "zsh", "fish"}));
  script->footer(
      "Examples:\n"
      "  source <(stint completion bash)     # in ~/.bashrc; zsh likewise, after compinit\n"
      "  stint completion fish | source      # in ~/.config/fish/config.fish");
  script->callback([shell, &action] {
    action = [shell] {
      const Status done = write_output("", completion_script(*shell));
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });

  auto words = std::make_shared<std::vector<std::string>>();
  Command* ask = app.add_subcommand("complete", "What may stand next on a command line")->group("");
  ask->add_option("words", *words, "those after stint, behind --");
  ask->callback([words, &app, &action] {
    action = [words, &app] {
      Completion completion = complete(command_tree(app), *words);
      offer(completion, live_values(completion.kind, *words));
      const Status done = write_output("", to_lines(completion));
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
