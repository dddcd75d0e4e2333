#include "cli/run/backup_archive.h"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon/identity/audit_log.h"
#include "host/file.h"
#include "host/scratch_dir.h"
#include "store/database_copy.h"
#include "store/govern_file.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const Instant kNow = Instant::from_ns(1'790'000'000'000'000'000);

/// A state folder with users, an audit log of three records and another database; and a configuration beside it.
class BackupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(state() + "/" + "work/logs");
    auto govern = GovernFile::open(state() + "/govern.db");
    ASSERT_TRUE(govern.ok());
    AuditRow row;
    for (const char* what : {"/v1/jobs", "/v1/jobs/1", "/v1/users/ann"}) {
      row = chain(row, {.at = kNow, .actor = "ann", .method = "GET", .target = what, .status = 200});
      ASSERT_TRUE(govern->append(row).ok());
    }
    head_ = row.hash;
    auto other = Database::open(state() + "/other.db", DatabaseAccess::kCreate);
    ASSERT_TRUE(other
                    ->execute("PRAGMA journal_mode = WAL; PRAGMA user_version = 7; CREATE TABLE n (i INTEGER); "
                              "INSERT INTO n VALUES (1), (2), (3)")
                    .ok());
    write(dir_ / "config.json", R"({"nodes": []})");
    write(state() + "/admin.token", "secret");
    write(state() + "/decisions.json", R"({"F-1":{"decision":"approved"}})");
    write(state() + "/accounts.json", R"({"version":1,"accounts":{"acme/ann":70000}})");
    write(state() + "/" + "work/logs/17.0.0.out", "hello\n");
  }
  static void write(const std::string& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
  std::string state() const { return dir_ / "state"; }
  std::string file() const { return dir_ / "backup.tar"; }
  Result<BackupManifest> back_up(bool logs = false) {
    return make_backup({.state_folder = state(), .config_file = dir_ / "config.json", .logs = logs, .stint_version = "1.2.3"},
                       file(), kNow);
  }
  /// What stands beside the state folder, without what SQLite leaves.
  std::vector<std::string> beside() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(dir_ / ""))
      names.push_back(entry.path().filename().string());
    return names;
  }
  std::string restore_error() {
    const auto restored = restore_backup(file(), dir_ / "new");
    EXPECT_FALSE(std::filesystem::exists(dir_ / "new"));
    return restored.ok() ? "restored" : restored.error().message;
  }

  ScratchDir dir_;
  std::string head_;
};

TEST_F(BackupTest, WhatIsRestoredIsWhatWasThere) {
  const auto made = back_up(true);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->audit_records, 3);
  EXPECT_EQ(made->audit_head, head_);
  const auto restored = restore_backup(file(), dir_ / "new/");
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_EQ(*restored, *made);
  auto other = Database::open(dir_ / "new/other.db", DatabaseAccess::kReadWrite);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(*other->integer("SELECT sum(i) FROM n"), 6);
  EXPECT_EQ(*other->integer("PRAGMA user_version"), 7);
  EXPECT_EQ(*read_all(dir_ / "new/config.json"), R"({"nodes": []})");
  EXPECT_EQ(*read_all(dir_ / "new/work/logs/17.0.0.out"), "hello\n");
  EXPECT_EQ(*read_all(dir_ / "new/decisions.json"), R"({"F-1":{"decision":"approved"}})");
  EXPECT_EQ(*read_all(dir_ / "new/accounts.json"), R"({"version":1,"accounts":{"acme/ann":70000}})");
  EXPECT_FALSE(std::filesystem::exists(dir_ / "new/admin.token")) << "a secret";
  EXPECT_EQ(GovernFile::open(dir_ / "new/govern.db")->last_audit()->hash, head_);
  EXPECT_THAT(beside(), UnorderedElementsAre("state", "config.json", "backup.tar", "new")) << "nothing is left lying about";
  EXPECT_EQ(std::filesystem::status(file()).permissions() & std::filesystem::perms::others_all, std::filesystem::perms::none);
}

TEST_F(BackupTest, TarReadsIt) {
  ASSERT_TRUE(back_up().ok());
  const std::string command = "tar -tf '" + file() + "' > '" + (dir_ / "list") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(*read_all(dir_ / "list"), "manifest.json\nconfig.json\ngovern.db\nother.db\ndecisions.json\naccounts.json\n");
}

TEST_F(BackupTest, NothingIsOverwritten) {
  ASSERT_TRUE(back_up().ok());
  EXPECT_THAT(back_up().error().message, HasSubstr("is there already"));
  const auto restored = restore_backup(file(), state());
  EXPECT_THAT(restored.error().message, HasSubstr("nothing is overwritten"));
  EXPECT_EQ(*read_all(state() + "/admin.token"), "secret");
  std::filesystem::create_directory(dir_ / "empty");
  EXPECT_TRUE(restore_backup(file(), dir_ / "empty").ok()) << "an empty folder is no loss";
}

TEST_F(BackupTest, DamageAnywhereIsRefusedAndLeavesNothing) {
  ASSERT_TRUE(back_up().ok());
  const std::string good = *read_all(file());
  size_t refused = 0;
  for (size_t at = 0; at < good.size(); at += 1009) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    write(file(), bad);
    const auto checked = check_backup(file(), dir_ / "");
    if (!checked.ok()) ++refused;
    // What is not content: padding, and fields of a header that nothing rests on.
    if (checked.ok()) {
      EXPECT_EQ(checked->audit_head, head_) << at;
    }
  }
  EXPECT_GT(refused, good.size() / 1009 / 2);
  for (const size_t size : {size_t{0}, size_t{100}, size_t{512}, good.size() / 2, good.size() - 2000}) {
    write(file(), good.substr(0, size));
    EXPECT_NE(restore_error(), "restored") << size;
  }
  write(file(), "not a backup");
  EXPECT_NE(restore_error(), "restored");
  EXPECT_THAT(beside(), UnorderedElementsAre("state", "config.json", "backup.tar"));
}

TEST_F(BackupTest, ABrokenAuditLogIsNotBackedUpAsIfItWereSound) {
  {
    auto govern = Database::open(state() + "/govern.db", DatabaseAccess::kReadWrite);
    ASSERT_TRUE(govern->execute("UPDATE audit SET record = replace(record, 'ann', 'bob') WHERE sequence = 2").ok());
  }
  EXPECT_THAT(back_up().error().message, HasSubstr("audit record 2"));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(BackupTest, AFolderWithoutDatabasesIsNoState) {
  const auto made = make_backup({.state_folder = dir_ / "nowhere", .config_file = dir_ / "config.json"}, file(), kNow);
  EXPECT_THAT(made.error().message, HasSubstr("nowhere"));
  EXPECT_THAT(
      make_backup({.state_folder = state() + "/" + "work", .config_file = dir_ / "config.json"}, file(), kNow).error().message,
      HasSubstr("no databases there"));
}

TEST_F(BackupTest, CopiesOfTwoDatabasesAreOfOneMoment) {
  // A writer puts each number into a.db and then into b.db: at any moment b lacks at most the last one.
  std::filesystem::create_directory(dir_ / "pair");
  for (const char* name : {"pair/a.db", "pair/b.db"})
    ASSERT_TRUE(Database::open(dir_ / name, DatabaseAccess::kCreate)
                    ->execute("PRAGMA journal_mode = WAL; CREATE TABLE n (i INTEGER)")
                    .ok());
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    auto a = Database::open(dir_ / "pair/a.db", DatabaseAccess::kReadWrite);
    auto b = Database::open(dir_ / "pair/b.db", DatabaseAccess::kReadWrite);
    for (int i = 1; !stop; ++i)
      for (auto* one : {&a, &b})
        EXPECT_TRUE((*one)->execute(fmt::format("INSERT INTO n VALUES ({})", i)).ok());
  });
  for (int round = 0; round < 20; ++round) {
    const std::string to = dir_ / fmt::format("copy-{}", round);
    std::filesystem::create_directory(to);
    const Status copied = copy_databases({dir_ / "pair/a.db", dir_ / "pair/b.db"}, to);
    ASSERT_TRUE(copied.ok()) << copied.error().message;
    const auto last = [&](const char* name) {
      return *Database::open(to + name, DatabaseAccess::kReadWrite)->integer("SELECT coalesce(max(i), 0) FROM n");
    };
    const int64_t a = last("/a.db");
    const int64_t b = last("/b.db");
    EXPECT_TRUE(a == b || a == b + 1) << a << " and " << b;
  }
  stop = true;
  writer.join();
}

TEST_F(BackupTest, IsReadByWhoHasTheKeyAlone) {
  write(dir_ / "key", std::string(64, 'a'));
  write(dir_ / "other", std::string(64, 'b'));
  for (const char* name : {"key", "other"})
    std::filesystem::permissions(dir_ / name, std::filesystem::perms::owner_read);
  ASSERT_TRUE(make_backup({.state_folder = state(),
                           .config_file = dir_ / "config.json",
                           .logs = true,
                           .key_file = dir_ / "key",
                           .stint_version = "1.2.3"},
                          file(), kNow)
                  .ok());
  const std::string bytes = read_all(file()).value();
  for (const char* in_the_open : {"hello", "SQLite format", "manifest.json", "approved", "acme/ann"})
    EXPECT_EQ(bytes.find(in_the_open), std::string::npos) << in_the_open;
  const auto error = [&](const std::string& key) {
    const auto done = check_backup(file(), dir_ / "", key);
    return done.ok() ? std::string() : done.error().message;
  };
  EXPECT_EQ(error(dir_ / "key"), "");
  EXPECT_THAT(error(""), HasSubstr("is encrypted: name the file with its key"));
  EXPECT_THAT(error(dir_ / "other"), HasSubstr("another key"));
  ASSERT_TRUE(restore_backup(file(), dir_ / "new", dir_ / "key").ok());
  EXPECT_EQ(GovernFile::open(dir_ / "new/govern.db")->last_audit()->hash, head_);
  // One that somebody put in its place is no backup of whoever has the key.
  std::filesystem::remove(file());
  ASSERT_TRUE(back_up().ok());
  EXPECT_THAT(error(dir_ / "key"), HasSubstr("is not encrypted"));
  // Cut off where a piece ends, or changed anywhere, it is not taken.
  write(file(), bytes.substr(0, bytes.size() - 20));
  EXPECT_THAT(error(dir_ / "key"), HasSubstr("cut off"));
}

}  // namespace
}  // namespace stint
