#include "cli/understand/goals_option.h"

#include <algorithm>

#include "cli/parser.h"
#include "host/file.h"

namespace stint {

void add_goals_option(Command& command, std::string& file) {
  command
      .add_option(
          "--goals", file,
          "a file of goals, one a line (cost<=18000, training-throughput>=140%, p99<=100%): which hold, and why not; exit code 3 "
          "where one does not")
      ->check(existing_file());
}

Result<std::vector<Goal>> load_goals(const std::string& file) {
  if (file.empty()) return std::vector<Goal>();
  TRY_ASSIGN(const std::string text, read_all(file));
  auto goals = parse_goals(text);
  if (!goals.ok()) return invalid("{}, {}", file, goals.error().message);
  return std::move(*goals);
}

ExitCode exit_code_of(const std::vector<GoalVerdict>& goals) {
  return std::ranges::all_of(goals, [](const GoalVerdict& one) { return one.outcome == GoalOutcome::kHolds; })
             ? ExitCode::kOk
             : ExitCode::kPartly;
}

}  // namespace stint
