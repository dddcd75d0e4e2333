#include "cli/tools/help_page.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "cli/app.h"
#include "cli/parser.h"
#include "report/utf8.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CommandNode whole_program() {
  Action action;
  return command_tree(*make_app(action));
}

void expect_fits(const CommandNode& command, size_t width) {
  const std::string page = help_page(command, {Colour::kNo, width});
  for (const std::string_view line : split(page, '\n'))
    EXPECT_LE(display_width(line), width) << command.path << ": " << line;
  for (const CommandNode& below : command.commands)
    expect_fits(below, width);
}

TEST(HelpPage, OfEveryCommandFitsTheTerminal) {
  const CommandNode root = whole_program();
  expect_fits(root, 80);
  expect_fits(root, 120);
}

TEST(HelpPage, ShowsCommandsUnderTheirHeadings) {
  const std::string page = help_page(whole_program(), {Colour::kNo, 80});
  size_t at = 0;
  for (const std::string_view group : command_groups()) {
    const size_t found = page.find("\n" + std::string(group) + ":\n", at);
    ASSERT_NE(found, std::string::npos) << group << " in\n" << page;
    at = found;
  }
  EXPECT_THAT(page, Not(HasSubstr("\nCommands:")));
  EXPECT_THAT(page, Not(HasSubstr("\n  approve ")));
}

TEST(HelpPage, NamesTheConnectionOptionsOfAllCommandsInOneLine) {
  const CommandNode root = whole_program();
  const std::string page = help_page(*root.command("why"), {Colour::kNo, 80});
  EXPECT_THAT(page, HasSubstr("see `stint help connection`"));
  EXPECT_THAT(page, Not(HasSubstr("--token-file")));
  EXPECT_THAT(page, HasSubstr("--json"));
  const std::string topic = connection_page(root, {Colour::kNo, 80});
  for (const char* name : {"--server", "--token-file", "--ca-file", "--certificate", "--key", "--code"})
    EXPECT_THAT(topic, HasSubstr(name));
}

TEST(HelpPage, SaysWhatAnOptionTakes) {
  const CommandNode root = whole_program();
  const std::string page = help_page(*root.command("queue"), {Colour::kNo, 80});
  EXPECT_THAT(page, HasSubstr("--limit INT")) << page;
  EXPECT_THAT(page, HasSubstr("(1 to 1000; default: 100)"));
  EXPECT_THAT(help_page(*root.command("bill"), {Colour::kNo, 80}), HasSubstr("Usage: stint bill --history FILE [options]"));
  EXPECT_THAT(help_page(*root.command("plan"), {Colour::kNo, 80}), HasSubstr("Usage: stint plan [options] command"));
}

TEST(HelpPage, OptionsOfAGroupStandUnderWhatTheyAreAbout) {
  const CommandNode root = whole_program();
  const std::string page = help_page(*root.command("pick"), {Colour::kNo, 100});
  const size_t group = page.find("\nWhat is to be done;");
  ASSERT_NE(group, std::string::npos) << page;
  EXPECT_GT(page.find("  --train MODEL "), group);
  EXPECT_LT(page.find("  --train MODEL "), page.find("\nOptions:"));
  EXPECT_EQ(page.find("--help"), page.rfind("--help")) << "once";
}

TEST(HelpPage, BreaksACommandSoThatAShellStillReadsOne) {
  CommandNode command{.name = "try", .path = "stint try", .help = "Tries"};
  command.notes = "Example: stint try --first one --second 'two words' --third three";
  EXPECT_THAT(help_page(command, {Colour::kNo, 50}),
              HasSubstr("Example: stint try --first one --second \\\n  'two words' --third three\n"));
}

std::string problem(const std::vector<std::string>& words) { return explain_unknown_name(whole_program(), words); }

TEST(UnknownName, OfACommandOrAnOptionIsNamedWithTheNearest) {
  EXPECT_EQ(problem({"aduit"}), "there is no command 'aduit'; did you mean 'audit'?");
  EXPECT_EQ(problem({"audit", "--histroy", "fleet.db"}), "`stint audit` has no option --histroy; did you mean '--history'?");
  EXPECT_EQ(problem({"audit", "--histroy=fleet.db"}), "`stint audit` has no option --histroy; did you mean '--history'?");
  EXPECT_EQ(problem({"plan", "comit"}), "`stint plan` has no command 'comit'; did you mean 'commit'?");
  EXPECT_EQ(problem({"frobnicate"}), "there is no command 'frobnicate'");
}

TEST(UnknownName, IsNotFoundWhereAllNamesExist) {
  EXPECT_EQ(problem({"audit", "--history", "--fleet.db"}), "") << "the option's value";
  EXPECT_EQ(problem({"audit"}), "");
  EXPECT_EQ(problem({"submit", "--", "python", "--no-such"}), "") << "a job's own words";
  EXPECT_EQ(problem({"approve", "4"}), "") << "an earlier name";
}

}  // namespace
}  // namespace stint
