#include "backends/capacity/program_capacity.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/text.h"
#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ProgramCapacityTest : public ::testing::Test {
 protected:
  ProgramCapacityTest() {
    put_file(program_,
             fmt::format("#!/bin/sh\necho \"$@\" >>{0}/told\n[ -e {0}/broken ] && {{ echo no power >&2; exit 3; }}\n"
                         "[ $2 = start ] && echo 'b: no capacity'\n[ $2 = list ] && printf 'a ready\\nb coming\\n\\n'\nexit 0\n",
                         dir_ / "."));
    ::chmod(program_.c_str(), 0755);
  }
  static CapacityHeard all_of(ProgramCapacity& capacity) {
    CapacityHeard all;
    for (;;) {
      capacity.wait();
      CapacityHeard heard = capacity.hear({});
      if (heard.answers.empty() && heard.lists.empty()) return all;
      std::ranges::move(heard.answers, std::back_inserter(all.answers));
      std::ranges::move(heard.lists, std::back_inserter(all.lists));
    }
  }
  std::vector<std::string> told() {
    const auto text = read_all(dir_ / "told");
    std::vector<std::string> lines;
    for (const auto line : split(trim(*text), '\n'))
      lines.emplace_back(line);
    return lines;
  }
  static std::vector<std::pair<std::string, CapacityOutcome>> outcomes(const CapacityHeard& heard) {
    std::vector<std::pair<std::string, CapacityOutcome>> all;
    for (const CapacityAnswer& answer : heard.answers)
      all.emplace_back(answer.name, answer.outcome);
    return all;
  }

  ScratchDir dir_;
  std::string program_ = dir_ / "machines";
};

TEST_F(ProgramCapacityTest, StartsAndStopsByNameAndTellsWhatCannotBeHad) {
  ProgramCapacity capacity({.command = {program_, "--fast"}}, "stint");
  capacity.create({.call = 1, .names = {"a", "b"}}, {});
  const CapacityHeard started = all_of(capacity);
  EXPECT_THAT(outcomes(started), ElementsAre(Pair("a", CapacityOutcome::kReady), Pair("b", CapacityOutcome::kStockout)));
  EXPECT_EQ(started.answers.back().detail, "no capacity");
  capacity.destroy({.call = 2, .targets = {{.name = "a"}, {.name = "c"}}}, {});
  EXPECT_THAT(outcomes(all_of(capacity)), ElementsAre(Pair("a", CapacityOutcome::kGone), Pair("c", CapacityOutcome::kGone)));
  EXPECT_THAT(told(), ElementsAre("--fast start a b", "--fast stop a c"));
}

TEST_F(ProgramCapacityTest, OneThatListsSaysByItsListWhatIsReady) {
  ProgramCapacity capacity({.command = {program_, "x"}, .lists = true}, "stint");
  capacity.create({.call = 1, .names = {"a"}}, {});
  EXPECT_THAT(outcomes(all_of(capacity)), ElementsAre(Pair("a", CapacityOutcome::kMade)));
  capacity.list(2, {});
  const CapacityHeard heard = all_of(capacity);
  ASSERT_EQ(heard.lists.size(), 1u);
  EXPECT_TRUE(heard.lists.front().unread.empty());
  ASSERT_EQ(heard.lists.front().machines.size(), 2u);
  EXPECT_EQ(heard.lists.front().machines[0].state, ListedState::kReady);
  EXPECT_EQ(heard.lists.front().machines[1].state, ListedState::kComing);
  EXPECT_EQ(heard.lists.front().machines[1].owner, "stint");
}

TEST_F(ProgramCapacityTest, AFailureMayHaveDoneItAndSaysHowItEnded) {
  put_file(dir_ / "broken", "");
  ProgramCapacity capacity({.command = {program_}, .start = "up", .stop = "down", .one_by_one = true}, "stint");
  capacity.create({.call = 1, .names = {"a", "b"}}, {});
  const CapacityHeard heard = all_of(capacity);
  ASSERT_EQ(heard.answers.size(), 2u);
  for (const CapacityAnswer& answer : heard.answers) {
    EXPECT_EQ(answer.outcome, CapacityOutcome::kUnknown);
    EXPECT_THAT(answer.detail, HasSubstr("up " + answer.name + ": it ended with 3: no power"));
  }
  capacity.list(2, {});
  const CapacityHeard listed = all_of(capacity);
  ASSERT_EQ(listed.lists.front().unread.size(), 1u);
  EXPECT_EQ(listed.lists.front().unread.front().name, "program");
  EXPECT_THAT(listed.lists.front().unread.front().why, HasSubstr("list: it ended with 3: no power"));
}

TEST(ProgramList, ALineThatIsNoneIsNamed) {
  EXPECT_THAT(read_program_list("a ready\nb sleeping\n", "x").error().message, HasSubstr("line 2"));
  EXPECT_THAT(read_program_list("a\n", "x").error().message, HasSubstr("line 1"));
  EXPECT_TRUE(read_program_list("", "x").ok());
}

}  // namespace
}  // namespace stint
