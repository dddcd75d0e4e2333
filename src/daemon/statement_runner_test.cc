#include "daemon/statement_runner.h"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>

#include "daemon/testing_statement_runner.h"
#include "host/file.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class StatementRunnerTest : public ::testing::Test {
 protected:
  StatementRunnerTest() { CHECK(HistoryFile::open(dir_ / "history.db", OpenMode::kCreate).ok(), "no History"); }

  StatementRunnerOptions options(const std::string& script = kStatementScript) {
    return {.program = put_program(dir_, script), .history = dir_ / "history.db", .folder = dir_ / "statements", .clock = [this] {
              return now_.load();
            }};
  }
  /// When it has ended; of one that is due, once it has begun.
  static StatementRunner::State ended(const StatementRunner& statements) {
    while (statements.state().running_since || !statements.state().ended)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return statements.state();
  }

  ScratchDir dir_;
  std::atomic<Instant> now_ = *parse_instant("2026-11-02T12:00:00Z");
};

TEST_F(StatementRunnerTest, OnDemandWritesAMonthThatHasEnded) {
  StatementRunner statements({.day = 0, .basis = "billed", .idle = "spread"},
                             options(std::string("echo \"$@\" > ") + (dir_ / "asked") + "\n" + kStatementScript));
  EXPECT_EQ(statements.state().next, std::nullopt);
  EXPECT_THAT(statements.begin("2026-11", "ann").error().message, HasSubstr("2026-11 has not ended"));
  EXPECT_EQ(statements.begin("yesterday", "ann").error().code, ErrorCode::kInvalidInput);
  ASSERT_TRUE(statements.begin("2026-10", "ann").ok());
  const StatementRunner::State state = ended(statements);
  EXPECT_EQ(state.error, "");
  EXPECT_EQ(state.by, "ann");
  EXPECT_THAT(read_all(dir_ / "asked").value(),
              HasSubstr("--month 2026-10 --folder " + (dir_ / "statements/.2026-10") + " --basis billed --idle spread --json"));
  const auto months = statements.book().months();
  ASSERT_THAT(months, SizeIs(1));
  EXPECT_EQ(months[0].month, "2026-10");
  EXPECT_EQ(months[0].written, now_.load());
  EXPECT_EQ(months[0].currency, "USD");
  ASSERT_THAT(months[0].statements, SizeIs(2));
  EXPECT_EQ(months[0].statements[1].client, "zoo");
  EXPECT_EQ(months[0].statements[1].amount, "7.25");
  EXPECT_EQ(statements.book().page("2026-10", "zoo").value(), "<html>zoo only</html>\n");
  EXPECT_EQ(statements.book().page("2026-10", "ape").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(statements.book().page("2026-09", "zoo").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(statements.book().page("../statements/2026-10", "zoo").error().code, ErrorCode::kNotFound);
}

TEST_F(StatementRunnerTest, AMonthIsWrittenOnTheDayAndOnce) {
  StatementRunner statements({.day = 3}, options(std::string("echo x >> ") + (dir_ / "runs") + "\n" + kStatementScript));
  // On the 2nd of November what was due last is September, on the 3rd of October: it was never written.
  EXPECT_EQ(ended(statements).error, "");
  EXPECT_TRUE(statements.book().has("2026-09"));
  EXPECT_EQ(statements.state().by, "daemon");
  EXPECT_EQ(statements.state().next, *parse_instant("2026-11-03T00:00:00Z"));
  now_ = *parse_instant("2026-11-03T00:00:05Z");
  statements.reconfigure({.day = 3});  // looks at the clock
  while (!statements.book().has("2026-10"))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(ended(statements).next, *parse_instant("2026-12-03T00:00:00Z"));
  EXPECT_EQ(read_all(dir_ / "runs").value(), "x\nx\n");
}

TEST_F(StatementRunnerTest, WhatFailsLeavesWhatIsThereAndIsTriedAgainAfterSixHours) {
  {
    StatementRunner statements({}, options());
    ASSERT_TRUE(statements.begin("2026-10", "ann").ok());
    ASSERT_EQ(ended(statements).error, "");
  }
  {
    StatementRunner statements({}, options("echo half > \"$7/acme.html\"; echo 'stint: no space' >&2; exit 1"));
    ASSERT_TRUE(statements.begin("2026-10", "ann").ok());
    EXPECT_EQ(ended(statements).error, "writing the statements of 2026-10 ended with 1: no space");
    EXPECT_EQ(statements.book().page("2026-10", "acme").value(), "<html>acme only</html>\n");
  }
  std::filesystem::remove_all(dir_ / "statements");
  StatementRunner statements({.day = 1}, options("exit 1"));
  EXPECT_EQ(ended(statements).next, now_.load() + kHour * 6);
  EXPECT_THAT(statements.book().months(), IsEmpty());
}

TEST_F(StatementRunnerTest, WhatAProgramPrintedThatIsNoListIsNotTaken) {
  StatementRunner statements({}, options("echo '{\"statements\":[{\"client\":\"a\",\"page\":\"/etc/passwd\"}]}'"));
  ASSERT_TRUE(statements.begin("2026-10", "ann").ok());
  EXPECT_THAT(ended(statements).error, HasSubstr("passwd was not written"));
  EXPECT_FALSE(statements.book().has("2026-10"));
}

}  // namespace
}  // namespace stint
