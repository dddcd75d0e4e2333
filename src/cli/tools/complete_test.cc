#include "cli/tools/complete.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// stint bill --by {client,project} --month MONTH --json; stint change list [file]; stint demo {agency,platform}.
CommandNode tree() {
  CommandNode bill{.name = "bill", .path = "stint bill", .help = "Who pays what"};
  bill.options = {{.names = {"--by"}, .placeholder = "TEXT", .choices = {"client", "project"}, .help = "what a row is"},
                  {.names = {"-m", "--month"}, .placeholder = "YYYY-MM", .type = "YYYY-MM"},
                  {.names = {"--history"}, .placeholder = "FILE", .type = "FILE"},
                  {.names = {"--json"}}};
  CommandNode list{.name = "list", .path = "stint change list"};
  list.arguments = {{.placeholder = "file"}};
  CommandNode change{.name = "change", .path = "stint change", .help = "Changes"};
  change.commands = {list};
  CommandNode demo{.name = "demo", .path = "stint demo"};
  demo.arguments = {{.placeholder = "story", .choices = {"agency", "platform"}}};
  CommandNode root{.name = "stint", .path = "stint"};
  root.options = {{.names = {"--version"}}};
  root.commands = {bill, change, demo};
  return root;
}

Completion ask(const std::vector<std::string>& words) { return complete(tree(), words); }

std::vector<std::string> values(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const Candidate& candidate : ask(words).candidates)
    out.push_back(candidate.value);
  return out;
}

TEST(Complete, CommandsAndThoseBelowThem) {
  EXPECT_THAT(values({""}), ElementsAre("bill", "change", "demo"));
  EXPECT_THAT(values({"c"}), ElementsAre("change"));
  EXPECT_THAT(values({"change", ""}), ElementsAre("list"));
  EXPECT_THAT(values({"frobnicate", ""}), IsEmpty());
  EXPECT_EQ(ask({"b"}).candidates.front(), (Candidate{"bill", "Who pays what"}));
  EXPECT_FALSE(ask({""}).files);
}

TEST(Complete, OptionsOfTheCommandReached) {
  EXPECT_THAT(values({"-"}), ElementsAre("--version"));
  EXPECT_THAT(values({"bill", "-"}), ElementsAre("--by", "-m", "--month", "--history", "--json"));
  EXPECT_THAT(values({"bill", "--month", "2026-10", "--j"}), ElementsAre("--json"));
}

TEST(Complete, ValuesWhetherTheOptionComesAsOneWordOrAsBashCutsIt) {
  EXPECT_THAT(values({"bill", "--by", ""}), ElementsAre("client", "project"));
  EXPECT_THAT(values({"bill", "--by", "p"}), ElementsAre("project"));
  EXPECT_THAT(values({"bill", "--by=p"}), ElementsAre("--by=project"));
  EXPECT_THAT(values({"bill", "--by", "="}), ElementsAre("client", "project"));
  EXPECT_THAT(values({"bill", "--by", "=", "c"}), ElementsAre("client"));
  EXPECT_THAT(values({"bill", "--by=client", "--j"}), ElementsAre("--json"));
  EXPECT_THAT(values({"bill", "--by", "=", "client", "--j"}), ElementsAre("--json"));
  EXPECT_THAT(values({"demo", "pl"}), ElementsAre("platform"));
}

TEST(Complete, FilesWhereTheyMayStand) {
  EXPECT_TRUE(ask({"bill", "--history", ""}).files);
  EXPECT_FALSE(ask({"bill", "--month", ""}).files);
  EXPECT_TRUE(ask({"change", "list", ""}).files);
  EXPECT_FALSE(ask({"change", "list", "a.json", ""}).files) << "it takes one file";
  EXPECT_FALSE(ask({"demo", ""}).files);
  EXPECT_TRUE(ask({"bill", "--", ""}).files);
  EXPECT_THAT(values({"bill", "--", "-"}), IsEmpty());
}

TEST(Complete, NothingForNothing) {
  EXPECT_EQ(to_lines(complete(tree(), {})), "");
  EXPECT_EQ(to_lines(ask({"bill", "--by", ""})), "value\tclient\t\nvalue\tproject\t\n");
  EXPECT_EQ(to_lines(ask({"bill", "--history", ""})), "files\n");
}

TEST(Complete, SaysWhatKindOfNameIsToComeAndOffersThoseThatFit) {
  CommandNode why{.name = "why", .path = "stint why"};
  why.options = {{.names = {"--queue"}, .placeholder = "QUEUE", .type = "QUEUE"}};
  why.arguments = {{.placeholder = "job", .type = "JOB", .repeatable = true}};
  CommandNode root{.name = "stint", .path = "stint"};
  root.commands = {why};
  const std::vector<Candidate> values = {{"agency-4", "train"}, {"agency-17", ""}, {"research-4", "two\tlines\n"}};

  const std::vector<std::string> job = {"why", "agency-1"};
  Completion completion = complete(root, job);
  EXPECT_EQ(completion.kind, "JOB");
  offer(completion, values);
  EXPECT_THAT(completion.candidates, ElementsAre(Candidate{"agency-17", ""}));

  const std::vector<std::string> queue = {"why", "--queue=r"};
  completion = complete(root, queue);
  EXPECT_EQ(completion.kind, "QUEUE");
  offer(completion, values);
  EXPECT_EQ(to_lines(completion), "value\t--queue=research-4\ttwo lines \n");
}

}  // namespace
}  // namespace stint
