#include "store/govern_file.h"

#include <gmock/gmock.h>

#include <sys/stat.h>
#include <filesystem>

#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"
#include "host/totp.h"
#include "store/testing_faulty_vfs.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const User kAnn{.name = "ann@example.com",
                .grants = {{Role::kSubmitter, "agency"}, {Role::kAuditor, ""}},
                .created = Instant::from_seconds(1'700'000'000)};
const Client kAgency{.name = "agency", .mandatory_tags = {"project", "team"}, .created = Instant::from_seconds(5)};
TEST(GovernFile, WhateverFailsAChangeAndItsAuditRecordAreThereTogetherOrNotAtAll) {
  const FaultyVfs::AsUsual faulty;
  for (const Fault fault : {Fault::kDiskFull, Fault::kWriteError, Fault::kShortWrite, Fault::kSyncError})
    for (int after = 0; after < 12; ++after) {
      const ScratchDir dir;
      const std::string path = dir / "govern.db";
      bool kept = false;
      {
        auto file = GovernFile::open(path);
        ASSERT_TRUE(file.ok()) << file.error().message;
        ASSERT_TRUE(file->begin().ok());
        ASSERT_TRUE(file->append({1, "", "{}", "h1"}).ok());
        ASSERT_TRUE(file->commit().ok());
        FaultyVfs::fail(fault, after);
        const Status begun = file->begin();
        const Status put = begun.ok() ? file->put(kAgency) : begun;
        // Large enough for several pages.
        const Status audited = put.ok() ? file->append({2, "agency", std::string(30'000, 'x'), "h2"}) : put;
        kept = audited.ok() && file->commit().ok();
        FaultyVfs::heal();
        if (!kept) file->roll_back();
      }
      auto file = GovernFile::open(path);
      ASSERT_TRUE(file.ok()) << static_cast<int>(fault) << " after " << after << ": " << file.error().message;
      const int64_t last = file->last_audit()->sequence;
      EXPECT_EQ(file->load()->clients.size(), last == 2 ? 1U : 0U) << static_cast<int>(fault) << " after " << after;
      if (kept || fault != Fault::kSyncError) {
        EXPECT_EQ(last, kept ? 2 : 1) << static_cast<int>(fault) << " after " << after;
      }
    }
}

TEST(GovernFile, IsItsOwnersAlone) {
  const ScratchDir dir;
  const auto file = GovernFile::open(dir / "govern.db");
  for (const char* name : {"govern.db", "govern.db-wal"}) {
    struct stat status = {};
    ASSERT_EQ(stat((dir / name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << name;
  }
}

TEST(GovernFile, RefusesOtherFilesAndOtherVersions) {
  const ScratchDir dir;
  put_file(dir / "text", "this is no database, but it is long enough to be taken for one by its length");
  EXPECT_FALSE(GovernFile::open(dir / "text").ok());
  {
    auto other = Database::open(dir / "other.db", DatabaseAccess::kCreate);
    ASSERT_TRUE(other->execute("CREATE TABLE a (b)").ok());
  }
  EXPECT_THAT(GovernFile::open(dir / "other.db").error().message, HasSubstr("others than its owner may read it"));
  std::filesystem::permissions(dir / "other.db", std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_THAT(GovernFile::open(dir / "other.db").error().message, HasSubstr("not a file of users"));
  ASSERT_TRUE(GovernFile::open(dir / "new.db").ok());
  {
    auto later = Database::open(dir / "new.db", DatabaseAccess::kReadWrite);
    ASSERT_TRUE(later->execute("PRAGMA user_version = 9").ok());
  }
  EXPECT_THAT(GovernFile::open(dir / "new.db").error().message, HasSubstr("newer stint"));
}

TEST(GovernFile, KeepsSecondFactorsAlsoInAFileOfVersion1) {
  const ScratchDir dir;
  const std::string path = dir / "govern.db";
  {
    auto file = GovernFile::open(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->begin().ok());
    ASSERT_TRUE(file->put(kAnn).ok());
    ASSERT_TRUE(file->commit().ok());
  }
  {
    auto older = Database::open(path, DatabaseAccess::kReadWrite);
    ASSERT_TRUE(older->execute("DROP TABLE second_factor; PRAGMA user_version = 1").ok());
  }
  SecondFactor factor{.user = kAnn.name,
                      .secret = std::string("\0\x01secret\xff", 9),
                      .confirmed = true,
                      .used_step = 60'000'000,
                      .failures = 2,
                      .locked_until = Instant::from_seconds(9),
                      .recovery = {"aa", "bb"},
                      .created = Instant::from_seconds(8)};
  for (int i = 0; i < 2; ++i) {
    auto file = GovernFile::open(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_THAT(file->load()->users, ElementsAre(kAnn));
    ASSERT_TRUE(file->put(factor).ok());
    EXPECT_THAT(file->load()->second_factors, ElementsAre(factor));
    factor.recovery.clear();
    factor.locked_until.reset();
  }
  auto file = GovernFile::open(path);
  ASSERT_TRUE(file->put(SecondFactor{.user = kAnn.name}).ok());
  EXPECT_TRUE(file->load()->second_factors.empty());
}

/// Bytes of the file and of what SQLite keeps beside it.
bool holds(const std::string& path, std::string_view text) {
  for (const char* end : {"", "-wal"})
    if (const auto bytes = read_all(path + end); bytes.ok() && bytes->find(text) != std::string::npos) return true;
  return false;
}

TEST(GovernFile, EncryptsSecretsOfCodesWithAKeyThatLiesElsewhere) {
  const ScratchDir dir;
  const std::string path = dir / "govern.db";
  const SealKey key = SealKey::of(std::string(32, 'k'));
  SecondFactor ann{.user = kAnn.name,
                   .secret = "0123456789abcdefghij",
                   .confirmed = true,
                   .used_step = 7,
                   .failures = 0,
                   .locked_until = {},
                   .recovery = {},
                   .created = Instant::from_seconds(1'790'000'000)};
  {
    auto file = GovernFile::open(path);
    ASSERT_TRUE(file.ok() && file->begin().ok() && file->put(kAnn).ok() && file->put(ann).ok() && file->commit().ok());
  }
  const std::string in_the_open = to_base32(ann.secret);
  EXPECT_TRUE(holds(path, in_the_open));
  {
    auto file = GovernFile::open(path, key);
    const auto state = file->load();
    ASSERT_TRUE(state.ok()) << state.error().message;
    EXPECT_EQ(state->second_factors.front(), ann);
  }
  EXPECT_FALSE(holds(path, in_the_open)) << "those that were there are encrypted, and leave no trace";
  {
    auto file = GovernFile::open(path, key);
    ann.used_step = 8;
    ASSERT_TRUE(file->begin().ok() && file->put(ann).ok() && file->commit().ok());
    EXPECT_EQ(file->load()->second_factors.front(), ann);
  }
  EXPECT_FALSE(holds(path, in_the_open));
  const auto error = [&](std::optional<SealKey> with) {
    auto file = GovernFile::open(path, std::move(with));
    const auto state = file->load();
    return state.ok() ? std::string() : state.error().message;
  };
  EXPECT_THAT(error(std::nullopt), ::testing::HasSubstr("--secrets-key"));
  EXPECT_THAT(error(SealKey::of(std::string(32, 'x'))), ::testing::HasSubstr("another key"));
  // A secret of one's own, put in another's row, opens nothing.
  {
    auto database = Database::open(path, DatabaseAccess::kReadWrite);
    ASSERT_TRUE(database->execute("UPDATE second_factor SET user = 'eve'").ok() ||
                database
                    ->execute("INSERT INTO user SELECT 'eve', grants, disabled, created_ns FROM user LIMIT 1; "
                              "UPDATE second_factor SET user = 'eve'")
                    .ok());
  }
  EXPECT_THAT(error(key), ::testing::HasSubstr("eve's one-time codes"));
}

}  // namespace
}  // namespace stint
