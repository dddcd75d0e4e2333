// The whole program's commands, walked: what must hold for every one of them.
#include "cli/command_tree.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/app.h"
#include "cli/parser.h"
#include "cli/tools/help_page.h"
#include "cli/tools/man_page.h"

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
  // These print no facts themselves: other formats, other programs' output, or nothing.
  const std::map<std::string, std::string> without = {
      {"stint alerts export", "a file of Prometheus's"},
      {"stint completion", "a shell's script"},
      {"stint daemon", "runs until it is stopped; its API speaks JSON"},
      {"stint dashboards export", "JSON already"},
      {"stint help", "text for people"},
      {"stint logs", "what the job prints, as it is"},
      {"stint man", "a manual page"},
      {"stint replay make-jobs", "makes a file"},
      {"stint run", "what the command prints, as it is; --events has JSON lines"},
      {"stint secret seal", "encrypts a file in its place"},
      {"stint serve example", "makes a file"},
      {"stint serve run", "runs until it is stopped; what it serves is JSON or binary"},
      {"stint slurm resume", "nothing: Slurm calls it"},
      {"stint slurm suspend", "nothing: Slurm calls it"},
      {"stint starter", "runs until it is stopped"},
      {"stint version", "one line"},
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

TEST(CommandTree, EveryCommandOfTheProgramStandsInAGroup) {
  const std::set<std::string_view> groups(command_groups().begin(), command_groups().end());
  for (const CommandNode& command : whole_tree().commands)
    EXPECT_TRUE(groups.contains(command.group)) << command.path << " is in '" << command.group << "'";
}

/// Of "JSON", "GPUs", "p99" and the like no case can be told.
bool is_plain_word(const std::string& text) {
  const std::string word = text.substr(0, text.find_first_of(" ,;:.'"));
  return word.size() > 1 && std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

TEST(CommandTree, HelpHasOneStyleOfCapitals) {
  const std::set<std::string> names = {"History", "Slurm", "Prometheus", "Grafana", "Authorization"};
  const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::vector<CommandNode> all = {whole_tree()};
  while (!all.empty()) {
    const CommandNode command = std::move(all.back());
    all.pop_back();
    EXPECT_TRUE(!is_plain_word(command.help) || is_capital(command.help[0])) << command.path << ": " << command.help;
    for (const auto* list : {&command.options, &command.arguments})
      for (const OptionInfo& option : *list)
        EXPECT_TRUE(!is_plain_word(option.help) || !is_capital(option.help[0]) ||
                    names.contains(option.help.substr(0, option.help.find_first_of(" ,;:.'"))))
            << command.path << ": " << option.help;
    all.insert(all.end(), command.commands.begin(), command.commands.end());
  }
}

TEST(CommandTree, EarlierNamesGoOnWorkingAndAreNotShown) {
  const CommandNode root = whole_tree();
  for (const char* name : {"silence", "approvals", "approve", "refuse"}) {
    EXPECT_EQ(root.command(name), nullptr) << name;
    EXPECT_NE(root.any_command(name), nullptr) << name;
  }
  ASSERT_NE(root.command("approval"), nullptr);
  for (const char* name : {"list", "approve", "refuse"})
    EXPECT_NE(root.command("approval")->command(name), nullptr) << name;
  for (const char* name : {"list", "expire"})
    EXPECT_NE(root.command("alerts")->command("silence")->command(name), nullptr) << name;
}

TEST(CommandTree, TakesNamesChoicesRangesAndDefaultsFromTheParser) {
  const CommandNode root = whole_tree();
  const CommandNode* bill = root.command("bill");
  ASSERT_NE(bill, nullptr);
  const OptionInfo* by = bill->option("--by");
  ASSERT_NE(by, nullptr);
  EXPECT_THAT(by->choices, ::testing::ElementsAre("client", "project", "team", "environment", "workload", "namespace",
                                                  "controller", "pod", "node"));
  EXPECT_EQ(by->standard, "client");
  EXPECT_EQ(bill->option("-o"), bill->option("--output"));
  EXPECT_FALSE(bill->option("--json")->takes_value());
  EXPECT_EQ(root.command("queue")->option("--limit")->range, "1 to 1000");
  EXPECT_NE(root.command("pick")->option("--train"), nullptr) << "in a group of options";
  EXPECT_EQ(root.command("keeper"), nullptr) << "hidden from help";
  EXPECT_TRUE(root.command("show")->arguments.at(0).repeatable);
  EXPECT_FALSE(root.command("show")->arguments.at(0).takes_path()) << "job numbers";
  EXPECT_EQ(bill->option("--history")->placeholder, "FILE") << "what is called alike is of one kind";
  EXPECT_EQ(bill->option("--idle")->choices.size(), 3U);
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
