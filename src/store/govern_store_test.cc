// What every store of users, tokens and the audit log does, and what the one in a database does besides.
#include "store/govern_store.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "host/scratch_dir.h"
#include "host/testing_files.h"
#include "host/totp.h"
#include "store/govern_file.h"
#include "store/govern_postgres.h"
#include "store/testing_postgres.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const User kBob{.name = "bob@example.com",
                .grants = {{Role::kSubmitter, "agency"}, {Role::kAuditor, ""}},
                .created = Instant::from_seconds(1'700'000'000)};
const Client kShop{.name = "shop", .mandatory_tags = {"project", "team"}, .created = Instant::from_seconds(5)};
const Token kLaptop{.id = "1f",
                    .hash = "abc",
                    .user = kBob.name,
                    .scopes = *parse_scopes("read,submit"),
                    .note = std::string("laptop, \0at home\xff", 17),
                    .created = Instant::from_seconds(6),
                    .expires = Instant::from_seconds(7)};
const SecondFactor kCodes{.user = kBob.name,
                          .secret = std::string("\0\x01secret\xff", 9),
                          .confirmed = true,
                          .used_step = 60'000'000,
                          .failures = 2,
                          .locked_until = Instant::from_seconds(9),
                          .recovery = {"aa", "bb"},
                          .created = Instant::from_seconds(8)};

std::vector<AuditRow> audit_of(GovernStore& store, int64_t after = 0, int64_t limit = INT64_MAX, std::string_view client = "") {
  std::vector<AuditRow> rows;
  const Status read = store.read_audit(after, limit, client, [&](const AuditRow& row) {
    rows.push_back(row);
    return Status();
  });
  CHECK(read.ok(), "{}", read.error().message);
  return rows;
}

/// A place for a store of one kind, which can be opened time and again.
class GovernStores : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) return;
    if (TestingPostgres::programs().empty()) GTEST_SKIP() << "PostgreSQL is not installed (Debian: postgresql)";
    server_.emplace();
    auto log = EventLog::open(server_->url());
    CHECK(log.ok(), "{}", log.error().message);
    log_ = std::make_unique<EventLog>(std::move(log).value());
  }
  std::unique_ptr<GovernStore> open(GovernSecrets secrets = {}) {
    if (server_) {
      auto store = GovernPostgres::open(server_->url(), log_->epoch(), std::move(secrets));
      CHECK(store.ok(), "{}", store.error().message);
      return std::move(store).value();
    }
    auto file = GovernFile::open(dir_ / "govern.db", std::move(secrets));
    CHECK(file.ok(), "{}", file.error().message);
    return std::make_unique<GovernFile>(std::move(file).value());
  }

  ScratchDir dir_;
  std::optional<TestingPostgres> server_;
  std::unique_ptr<EventLog> log_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, GovernStores, ::testing::Bool(),
                         [](const auto& kind) { return std::string(kind.param ? "PostgreSQL" : "File"); });

TEST_P(GovernStores, KeepsWhatIsCommitted) {
  {
    const auto store = open();
    EXPECT_EQ(store->last_audit()->sequence, 0);
    ASSERT_TRUE(store->begin().ok());
    ASSERT_TRUE(store->put(kBob).ok());
    ASSERT_TRUE(store->put(kShop).ok());
    ASSERT_TRUE(store->put(kLaptop).ok());
    ASSERT_TRUE(store->put(kCodes).ok());
    ASSERT_TRUE(store->append({1, "shop", "{}", "h1"}).ok());
    ASSERT_TRUE(store->append({2, "", "{\"a\":1}", "h2"}).ok());
    ASSERT_TRUE(store->append({3, "shop", "{}", "h3"}).ok());
    ASSERT_TRUE(store->commit().ok());
    ASSERT_TRUE(store->begin().ok());
    ASSERT_TRUE(store->append({4, "", "{}", "h4"}).ok());
    store->roll_back();
  }
  const auto store = open();
  const auto state = store->load();
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_THAT(state->users, ElementsAre(kBob));
  EXPECT_THAT(state->clients, ElementsAre(kShop));
  EXPECT_THAT(state->tokens, ElementsAre(kLaptop));
  EXPECT_THAT(state->second_factors, ElementsAre(kCodes));
  EXPECT_EQ(*store->last_audit(), (AuditRow{3, "shop", "{}", "h3"}));
  EXPECT_THAT(audit_of(*store, 0, 2), ElementsAre(AuditRow{1, "shop", "{}", "h1"}, AuditRow{2, "", "{\"a\":1}", "h2"}));
  EXPECT_THAT(audit_of(*store, 1, 9, "shop"), ElementsAre(AuditRow{2, "shop", "{}", "h3"}));
}

TEST_P(GovernStores, ChangesWhatHasTheSameName) {
  const auto store = open();
  User bob = kBob;
  Client shop = kShop;
  Token token = kLaptop;
  ASSERT_TRUE(store->begin().ok() && store->put(bob).ok() && store->put(shop).ok() && store->put(token).ok() &&
              store->put(kCodes).ok() && store->commit().ok());
  bob.grants.clear();
  bob.disabled = shop.disabled = true;
  shop.mandatory_tags.clear();
  token.revoked = Instant::from_seconds(8);
  ASSERT_TRUE(store->begin().ok() && store->put(bob).ok() && store->put(shop).ok() && store->put(token).ok() &&
              store->put(SecondFactor{.user = bob.name}).ok() && store->commit().ok());
  const auto state = store->load();
  EXPECT_THAT(state->users, ElementsAre(bob));
  EXPECT_THAT(state->clients, ElementsAre(shop));
  EXPECT_THAT(state->tokens, ElementsAre(token));
  EXPECT_TRUE(state->second_factors.empty());
}

TEST_P(GovernStores, WhatFailsIsNotThereByHalf) {
  const auto store = open();
  ASSERT_TRUE(store->begin().ok() && store->append({1, "", "{}", "h1"}).ok() && store->commit().ok());
  ASSERT_TRUE(store->begin().ok());
  Status done = store->put(kShop);
  if (done.ok()) done = store->append({1, "", "{}", "again"});
  if (done.ok()) done = store->commit();
  EXPECT_FALSE(done.ok());
  store->roll_back();
  EXPECT_TRUE(store->load()->clients.empty());
  EXPECT_THAT(audit_of(*store), ElementsAre(AuditRow{1, "", "{}", "h1"}));
  EXPECT_TRUE(store->begin().ok() && store->put(kShop).ok() && store->commit().ok());
}

TEST_P(GovernStores, TakesRecordsOut) {
  const auto store = open();
  ASSERT_TRUE(store->begin().ok());
  for (int64_t n = 1; n <= 5; ++n)
    ASSERT_TRUE(store->append({n, "shop", "{}", fmt::format("h{}", n)}).ok());
  ASSERT_TRUE(store->commit().ok());
  EXPECT_EQ(*store->taken_out_up_to(), 0);
  ASSERT_TRUE(store->begin().ok() && store->take_out(2, 4).ok() && store->commit().ok());
  EXPECT_EQ(*store->taken_out_up_to(), 4);
  EXPECT_THAT(audit_of(*store),
              ElementsAre(AuditRow{1, "shop", "{}", "h1"}, AuditRow{4, "", "", "h4"}, AuditRow{5, "shop", "{}", "h5"}));
}

TEST_P(GovernStores, SealsSecretsThatLayInTheOpen) {
  const SealKey key = SealKey::of(std::string(32, 'k'));
  {
    const auto store = open();
    ASSERT_TRUE(store->begin().ok() && store->put(kBob).ok() && store->put(kCodes).ok() && store->commit().ok());
  }
  const auto as_it_lies = [&] { return open({.key = {}, .untouched = true})->load()->second_factors.front().secret; };
  EXPECT_EQ(as_it_lies(), to_base32(kCodes.secret));
  EXPECT_THAT(open({.key = key})->load()->second_factors, ElementsAre(kCodes));
  EXPECT_TRUE(is_sealed(as_it_lies()));
  EXPECT_THAT(open({.key = key})->load()->second_factors, ElementsAre(kCodes));
  EXPECT_THAT(open()->load().error().message, HasSubstr("--secrets-key"));
  EXPECT_THAT(open({.key = SealKey::of(std::string(32, 'x'))})->load().error().message, HasSubstr("another key"));
}

TEST_P(GovernStores, IsCopiedWhole) {
  const auto store = open({.key = {}, .untouched = true});
  auto opened = GovernFile::open(dir_ / "other.db", GovernSecrets{.key = {}, .untouched = true});
  GovernFile other = std::move(opened).value();
  ASSERT_TRUE(other.begin().ok() && other.put(kBob).ok() && other.put(kShop).ok() && other.put(kLaptop).ok() &&
              other.put(kCodes).ok());
  for (int64_t n = 1; n <= 4'100; ++n) {
    if (n == 7) continue;  // taken out, with the record of the next
    ASSERT_TRUE(other.append({n, n % 2 == 0 ? "shop" : "", n == 8 ? "" : "{}", fmt::format("h{}", n)}).ok());
  }
  ASSERT_TRUE(other.commit().ok());
  const Status copied = copy_governance(other, *store);
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  EXPECT_EQ(audit_of(*store), audit_of(other));
  EXPECT_EQ(store->load()->tokens, other.load()->tokens);
  EXPECT_EQ(store->load()->second_factors, other.load()->second_factors);
  EXPECT_EQ(audit_of(*store, 0, INT64_MAX, "shop").size(), 2'050U);
}

/// A database and two daemons that take turns.
class GovernTurns : public ::testing::Test {
 protected:
  void SetUp() override {
    if (TestingPostgres::programs().empty()) GTEST_SKIP() << "PostgreSQL is not installed (Debian: postgresql)";
    server_.emplace();
  }
  std::unique_ptr<EventLog> log() {
    auto log = EventLog::open(server_->url());
    CHECK(log.ok(), "{}", log.error().message);
    return std::make_unique<EventLog>(std::move(log).value());
  }
  OpenedGovernance open(const std::string& folder, const EventLog& log) {
    auto opened = open_governance({folder, server_->url(), log.epoch()}, std::nullopt);
    CHECK(opened.ok(), "{}", opened.error().message);
    return std::move(opened).value();
  }
  static Status add(GovernStore& store, int64_t number) {
    TRY(store.begin());
    TRY(store.append({number, "", "{}", fmt::format("h{}", number)}));
    return store.commit();
  }
  /// As when the server takes the log's lock from one that it cuts off.
  void cut_off() { server_->execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"); }

  ScratchDir dir_;
  std::optional<TestingPostgres> server_;
};

TEST_F(GovernTurns, WhomAnotherHasRelievedWritesNothing) {
  const auto first = log();
  auto one = open(dir_ / "", *first).store;
  ASSERT_TRUE(one->load().ok() && add(*one, 1).ok());
  cut_off();
  const auto second = log();
  auto two = open(dir_ / "", *second).store;
  ASSERT_TRUE(two->load().ok());
  EXPECT_EQ(two->last_audit()->sequence, 1);
  const Status refused = add(*one, 2);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("another daemon has taken over"));
  EXPECT_TRUE(add(*two, 2).ok());
  EXPECT_THAT(audit_of(*two), ElementsAre(AuditRow{1, "", "{}", "h1"}, AuditRow{2, "", "{}", "h2"}));
}

TEST_F(GovernTurns, GoesOnByItselfWhenNoOtherCameBetweenAndReadsAnewWhenOneDid) {
  const auto first = log();
  auto one = open(dir_ / "", *first).store;
  ASSERT_TRUE(one->load().ok() && add(*one, 1).ok());
  cut_off();
  ASSERT_TRUE(first->reopen().ok());  // its own next turn
  EXPECT_TRUE(add(*one, 2).ok());
  cut_off();
  {
    const auto second = log();
    auto two = open(dir_ / "", *second).store;
    ASSERT_TRUE(two->load().ok() && add(*two, 3).ok());
  }
  ASSERT_TRUE(first->reopen().ok());
  const Status refused = add(*one, 4);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("in the meantime"));
  ASSERT_TRUE(one->load().ok());
  EXPECT_EQ(one->last_audit()->sequence, 3);
  EXPECT_TRUE(add(*one, 4).ok());
}

TEST_F(GovernTurns, ConnectsAnewWhenTheServerIsBack) {
  const auto first = log();
  auto one = open(dir_ / "", *first).store;
  ASSERT_TRUE(one->load().ok() && add(*one, 1).ok());
  server_->stop();
  EXPECT_FALSE(add(*one, 2).ok());
  server_->start();
  EXPECT_TRUE(add(*one, 2).ok());
}

TEST_F(GovernTurns, AFileOfBeforeIsTakenOverOnce) {
  const auto fill = [&](const std::string& folder, const std::string& hash) {
    std::filesystem::create_directory(folder);
    auto file = GovernFile::open(folder + "/govern.db");
    ASSERT_TRUE(file->begin().ok() && file->put(kBob).ok() && file->put(kLaptop).ok() && file->append({1, "", "{}", hash}).ok() &&
                file->commit().ok());
  };
  fill(dir_ / "one", "mine");
  fill(dir_ / "two", "another");
  {
    const auto first = log();
    const OpenedGovernance one = open(dir_ / "one", *first);
    EXPECT_THAT(one.news, HasSubstr("taken over into PostgreSQL (1 user, 1 record of the audit log)"));
    EXPECT_THAT(one.store->load()->tokens, ElementsAre(kLaptop));
    EXPECT_FALSE(std::filesystem::exists(dir_ / "one/govern.db"));
    EXPECT_TRUE(std::filesystem::exists(dir_ / "one/govern.db.taken"));
    EXPECT_EQ(open(dir_ / "one", *first).news, "");
    // As after a crash before it was moved.
    std::filesystem::rename(dir_ / "one/govern.db.taken", dir_ / "one/govern.db");
    EXPECT_THAT(open(dir_ / "one", *first).news, HasSubstr("taken over into PostgreSQL"));
    EXPECT_TRUE(std::filesystem::exists(dir_ / "one/govern.db.taken"));
  }
  const auto second = log();
  const OpenedGovernance two = open(dir_ / "two", *second);
  EXPECT_THAT(two.news, HasSubstr("counts no more"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "two/govern.db.unused"));
  ASSERT_TRUE(two.store->load().ok());
  EXPECT_THAT(audit_of(*two.store), ElementsAre(AuditRow{1, "", "{}", "mine"}));
}

TEST_F(GovernTurns, ACopyThatBrokeOffIsBegunAnew) {
  const auto first = log();
  {
    auto half = GovernPostgres::open(server_->url(), first->epoch(), {});
    ASSERT_TRUE((*half)->begin().ok() && (*half)->put(kShop).ok() && (*half)->append({1, "", "{}", "half"}).ok() &&
                (*half)->commit().ok());
  }
  EXPECT_EQ(*GovernPostgres::open_to_read(server_->url()), nullptr);
  auto store = open(dir_ / "", *first).store;
  EXPECT_TRUE(store->load()->clients.empty());
  EXPECT_EQ(store->last_audit()->sequence, 0);
  EXPECT_NE(*GovernPostgres::open_to_read(server_->url()), nullptr);
}

}  // namespace
}  // namespace stint
