#include "daemon/audit_runner.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "daemon/testing_audit_runner.h"
#include "host/file.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const Instant kNow = Instant::from_seconds(1'800'000'000);

class AuditRunnerTest : public ::testing::Test {
 protected:
  AuditRunnerTest() { CHECK(HistoryFile::open(dir_ / "history.db", OpenMode::kCreate).ok(), "no History"); }

  AuditRunnerOptions options(const std::string& script) {
    return {.program = put_program(dir_, script),
            .history = dir_ / "history.db",
            .clock = [this] { return now_.load(); },
            .take =
                [this](std::string_view json) {
                  taken_ = json;
                  return Status();
                },
            .last = {}};
  }
  static AuditRunner::State ended(const AuditRunner& audits) {
    while (audits.state().running_since || !audits.state().ended)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return audits.state();
  }

  ScratchDir dir_;
  std::atomic<Instant> now_ = kNow;
  std::string taken_;
};

TEST_F(AuditRunnerTest, GivesOnWhatTheProgramPrints) {
  AuditRunner audits({.every = Duration(), .allowed_regions = {"eu-*"}}, options("echo \"$@\""));
  ASSERT_TRUE(audits.begin("ann").ok());
  const AuditRunner::State state = ended(audits);
  EXPECT_EQ(state.error, "");
  EXPECT_EQ(state.by, "ann");
  EXPECT_EQ(state.next, std::nullopt);
  EXPECT_EQ(taken_, "audit --history " + dir_ / "history.db" + " --json --allow-region eu-*\n");
}

TEST_F(AuditRunnerTest, SaysWhyThereIsNoAudit) {
  AuditRunner audits({.every = Duration()}, options("echo 'stint: it holds nothing' >&2; exit 1"));
  ASSERT_TRUE(audits.begin("ann").ok());
  EXPECT_EQ(ended(audits).error, "the audit ended with 1: it holds nothing");
  EXPECT_EQ(taken_, "");
}

TEST_F(AuditRunnerTest, OneRunsAtATimeAndEndsWithItsOwner) {
  {
    AuditRunner audits({.every = Duration()}, options("echo $$ > " + dir_ / "pid" + "; sleep 1000"));
    ASSERT_TRUE(audits.begin("ann").ok());
    EXPECT_EQ(audits.begin("bob").error().code, ErrorCode::kConflict);
    EXPECT_EQ(audits.state().by, "ann");
    while (!is_regular_file(dir_ / "pid"))
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(taken_, "");
}

TEST_F(AuditRunnerTest, TheFirstIsDueAfterTenMinutesAndTheNextADayAfterIt) {
  AuditRunner audits({}, options("echo audit"));
  EXPECT_EQ(audits.state().next, kNow + Duration::minutes(10));
  now_ = kNow + Duration::minutes(11);
  audits.reconfigure({});  // looks at the clock
  const AuditRunner::State state = ended(audits);
  EXPECT_EQ(state.by, "daemon");
  EXPECT_EQ(state.next, kNow + Duration::minutes(11) + kHour * 24);
  EXPECT_EQ(taken_, "audit\n");
}

TEST_F(AuditRunnerTest, ADayCountsFromTheAuditThatIsThere) {
  AuditRunnerOptions with = options("echo audit");
  with.last = kNow - kHour * 20;
  const AuditRunner audits({}, with);
  EXPECT_EQ(audits.state().next, kNow + kHour * 4);
}

}  // namespace
}  // namespace stint
