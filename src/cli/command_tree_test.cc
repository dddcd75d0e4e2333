// The whole program's commands, walked: what must hold for every one of them.
#include "cli/command_tree.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "cli/app.h"
#include "cli/man_page.h"
#include "cli/parser.h"

namespace stint {
namespace {

CommandNode whole_tree() {
  Action action;
  return command_tree(*make_app(action));
}

/// Commands that do something themselves.
void collect_leaves(const CommandNode& command, std::vector<CommandNode>& leaves) {
  if (command.commands.empty()) leaves.push_back(command);
  for (const CommandNode& below : command.commands)
    collect_leaves(below, leaves);
}

std::vector<CommandNode> leaves() {
  std::vector<CommandNode> out;
  collect_leaves(whole_tree(), out);
  return out;
}

TEST(CommandTree, EveryCommandThatTellsSomethingTellsItAsJson) {
  // These print no facts of their own: other formats, other programs' output, or nothing.
  const std::map<std::string, std::string> without = {
      {"stint alerts export", "a file of Prometheus's"},
      {"stint completion", "a shell's script"},
      {"stint daemon", "runs until it is stopped; its API speaks JSON"},
      {"stint dashboards export", "JSON already"},
      {"stint logs", "what the job prints, as it is"},
      {"stint man", "a manual page"},
      {"stint replay make-jobs", "makes a file"},
      {"stint run", "what the command prints, as it is; --events has JSON lines"},
      {"stint serve example", "makes a file"},
      {"stint serve run", "runs until it is stopped; what it serves is JSON or binary"},
      {"stint slurm resume", "nothing: Slurm calls it"},
      {"stint slurm suspend", "nothing: Slurm calls it"},
  };
  std::set<std::string> found;
  for (const CommandNode& command : leaves()) {
    const bool json = command.option("--json") != nullptr;
    EXPECT_NE(json, without.contains(command.path)) << command.path << (json ? " has --json and is excused" : " lacks --json");
    found.insert(command.path);
  }
  for (const auto& [path, why] : without)
    EXPECT_TRUE(found.contains(path)) << path << " is excused and does not exist";
}

TEST(CommandTree, EverythingIsExplained) {
  for (const CommandNode& command : leaves()) {
    EXPECT_FALSE(command.help.empty()) << command.path;
    for (const auto* list : {&command.options, &command.arguments})
      for (const OptionInfo& option : *list)
        EXPECT_FALSE(option.help.empty()) << command.path << " "
                                          << (option.names.empty() ? option.placeholder : option.names.back());
  }
}

TEST(CommandTree, TakesNamesChoicesRangesAndDefaultsFromTheParser) {
  const CommandNode root = whole_tree();
  const CommandNode* bill = root.command("bill");
  ASSERT_NE(bill, nullptr);
  const OptionInfo* by = bill->option("--by");
  ASSERT_NE(by, nullptr);
  EXPECT_THAT(by->choices, ::testing::ElementsAre("client", "project", "team", "environment", "workload"));
  EXPECT_EQ(by->standard, "client");
  EXPECT_EQ(bill->option("-o"), bill->option("--output"));
  EXPECT_FALSE(bill->option("--json")->takes_value());
  EXPECT_EQ(root.command("queue")->option("--limit")->range, "1 to 1000");
  EXPECT_NE(root.command("pick")->option("--train"), nullptr) << "in a group of options";
  EXPECT_EQ(root.command("keeper"), nullptr) << "hidden from help";
  EXPECT_TRUE(root.command("show")->arguments.at(0).repeatable);
  EXPECT_FALSE(root.command("show")->arguments.at(0).takes_path()) << "job numbers";
  EXPECT_EQ(bill->option("--history")->placeholder, "FILE") << "what is called alike is of one kind";
  EXPECT_EQ(bill->option("--idle")->choices.size(), 2U);
}

TEST(ManPage, NothingInATextIsTakenForMarkup) {
  const CommandNode root{.name = "stint", .path = "stint"};
  CommandNode command{.name = "try", .path = "stint try", .help = "50 % – a\\b"};
  command.notes = ".not a macro\n'nor this: x-y";
  const std::string page = man_page_of_command(root, command, "1.2");
  EXPECT_THAT(page, ::testing::HasSubstr("stint\\-try \\- 50 % \\[u2013] a\\eb\n"));
  EXPECT_THAT(page, ::testing::HasSubstr("\n\\&.not a macro\n\\(aqnor this: x\\-y\n"));
}

}  // namespace
}  // namespace stint
