#include "daemon/identity/governor.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <future>

#include "host/file.h"
#include "host/scratch_dir.h"
#include "store/govern_postgres.h"
#include "store/testing_postgres.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr Instant kNow = Instant::from_seconds(1'800'000'000);
const Duration kDay = Duration::hours(24);

std::unique_ptr<Governor> open(const std::string& path) {
  auto governor = Governor::open(path);
  CHECK(governor.ok(), "{}", governor.error().message);
  return std::move(*governor);
}

Status change_and_wait(Governor& governor, GovernChange change) {
  std::promise<Status> done;
  governor.change(std::move(change), {.at = kNow, .actor = "test"}, [&](Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

std::vector<AuditRow> audit(Governor& governor) {
  std::promise<std::vector<AuditRow>> done;
  governor.read_audit(0, 1000, "", [&](Result<std::vector<AuditRow>> rows) { done.set_value(*rows); });
  return done.get_future().get();
}

TEST(Governor, ATokenIsGoodUntilItExpiresIsRevokedOrItsUserIsDisabled) {
  const ScratchDir dir;
  auto governor = open(dir / "govern.db");
  User ann{"ann", {{Role::kViewer, "agency"}}, false, kNow};
  ASSERT_TRUE(change_and_wait(*governor, ann).ok());
  NewToken made = make_token("ann", *parse_scopes("read"), kNow, kDay, "");
  EXPECT_THAT(made.secret, StartsWith("stint_"));
  EXPECT_THAT(made.secret, SizeIs(70));
  EXPECT_FALSE(governor->by_token(made.secret, kNow));
  ASSERT_TRUE(change_and_wait(*governor, made.token).ok());

  const auto known = governor->by_token(made.secret, kNow);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->user, "ann");
  EXPECT_EQ(known->token, made.token.id);
  EXPECT_EQ(known->grants, ann.grants);
  EXPECT_EQ(known->scopes, *parse_scopes("read"));
  EXPECT_FALSE(governor->by_token(made.secret + "0", kNow));
  EXPECT_FALSE(governor->by_token(made.token.hash, kNow));
  EXPECT_FALSE(governor->by_token("", kNow));
  EXPECT_TRUE(governor->by_token(made.secret, kNow + kDay - Duration::nanoseconds(1)));
  EXPECT_FALSE(governor->by_token(made.secret, kNow + kDay));
  EXPECT_FALSE(governor->still(*known, kNow + kDay));

  ann.disabled = true;
  ASSERT_TRUE(change_and_wait(*governor, ann).ok());
  EXPECT_FALSE(governor->by_token(made.secret, kNow));
  EXPECT_FALSE(governor->still(*known, kNow));
  EXPECT_FALSE(governor->by_certificate("ann"));
  ann.disabled = false;
  ann.grants = {{Role::kViewer, "studio"}};
  ASSERT_TRUE(change_and_wait(*governor, ann).ok());
  EXPECT_EQ(governor->still(*known, kNow)->grants, ann.grants);
  EXPECT_EQ(governor->by_certificate("ann")->scopes, Scopes::all());
  EXPECT_FALSE(governor->by_certificate("bob"));

  made.token.revoked = kNow;
  ASSERT_TRUE(change_and_wait(*governor, made.token).ok());
  EXPECT_FALSE(governor->by_token(made.secret, kNow));
}

TEST(Governor, InADatabaseThatIsAwayNothingHoldsThatIsNotThereAndItGoesOnAfterwards) {
  if (TestingPostgres::programs().empty()) GTEST_SKIP() << "PostgreSQL is not installed (Debian: postgresql)";
  const ScratchDir dir;
  TestingPostgres server;
  const auto log = EventLog::open(server.url());
  ASSERT_TRUE(log.ok()) << log.error().message;
  auto opened = open_governance({dir / "", server.url(), log->epoch()}, std::nullopt);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  auto made = Governor::open(std::move(opened->store), std::nullopt);
  ASSERT_TRUE(made.ok()) << made.error().message;
  Governor& governor = **made;
  const User ann{"ann", {{Role::kViewer, "agency"}}, false, kNow};
  ASSERT_TRUE(change_and_wait(governor, ann).ok());
  server.stop();
  User more = ann;
  more.grants.push_back({Role::kOperator, ""});
  EXPECT_FALSE(change_and_wait(governor, more).ok());
  EXPECT_EQ(governor.user("ann")->grants, ann.grants);
  EXPECT_FALSE(change_and_wait(governor, User{"bob", {}, false, kNow}).ok());
  EXPECT_FALSE(governor.user("bob"));
  server.start();
  ASSERT_TRUE(change_and_wait(governor, more).ok());
  EXPECT_EQ(governor.user("ann")->grants, more.grants);
  AuditVerifier verifier;
  for (const AuditRow& row : audit(governor))
    EXPECT_TRUE(verifier.check(row).ok()) << row.sequence;
  EXPECT_EQ(verifier.rows(), 2);
}

TEST(Governor, WhatWasAnsweredIsThereAfterARestart) {
  const ScratchDir dir;
  const NewToken made = make_token("ann", Scopes::all(), kNow, kDay, "");
  {
    auto governor = open(dir / "govern.db");
    ASSERT_TRUE(change_and_wait(*governor, User{"ann", {}, false, kNow}).ok());
    ASSERT_TRUE(change_and_wait(*governor, made.token).ok());
    for (int i = 0; i < 50; ++i)
      governor->record({.at = kNow, .actor = "ann", .target = std::to_string(i)}, nullptr);
  }
  auto governor = open(dir / "govern.db");
  EXPECT_TRUE(governor->by_token(made.secret, kNow));
  std::promise<void> done;
  governor->record({.at = kNow, .target = "last"}, [&](const Status&) { done.set_value(); });
  done.get_future().wait();
  const auto rows = audit(*governor);
  ASSERT_THAT(rows, SizeIs(53));
  AuditVerifier verifier;
  for (const AuditRow& row : rows)
    EXPECT_TRUE(verifier.check(row).ok());
  EXPECT_THAT(rows[51].record, HasSubstr(R"("target":"49")"));
}

TEST(Governor, AChangeThatCannotBeWrittenDoesNotHold) {
  const ScratchDir dir;
  auto governor = open(dir / "govern.db");
  const NewToken of_unknown = make_token("nobody", Scopes::all(), kNow, kDay, "");  // refers to a user that is not there
  EXPECT_FALSE(change_and_wait(*governor, of_unknown.token).ok());
  EXPECT_FALSE(governor->token(of_unknown.token.id));
  EXPECT_THAT(audit(*governor), SizeIs(0));
  EXPECT_TRUE(change_and_wait(*governor, User{"ann", {}, false, kNow}).ok());
  EXPECT_THAT(audit(*governor), SizeIs(1));
}

TEST(Governor, ThereIsAlwaysAnOperator) {
  const ScratchDir dir;
  auto governor = open(dir / "govern.db");
  const std::string path = dir / "token";
  EXPECT_TRUE(*ensure_operator(*governor, path, kNow));
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  std::string secret = *read_all(path);
  secret.pop_back();
  const auto admin = governor->by_token(secret, kNow);
  ASSERT_TRUE(admin);
  EXPECT_TRUE(admin->may_everywhere(Permission::kManageClients));
  EXPECT_TRUE(admin->may_everywhere(Permission::kSeeAudit));
  EXPECT_FALSE(*ensure_operator(*governor, path, kNow));
  EXPECT_TRUE(*ensure_operator(*governor, path, kNow + Duration::hours(91 * 24)));  // the first has expired
  EXPECT_FALSE(*ensure_operator(*governor, path, kNow + Duration::hours(91 * 24)));
}

}  // namespace
}  // namespace stint
