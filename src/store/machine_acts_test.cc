#include "store/machine_acts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/scratch_dir.h"
#include "store/history_file.h"
#include "store/sqlite.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

MachineActRecord started(int64_t second, std::string machine) {
  return {.at = Instant::from_seconds(second),
          .machine = std::move(machine),
          .act = MachineAct::kStarted,
          .who = "ann@example.org",
          .from = "192.0.2.7",
          .by = "aws-cli/2",
          .failed = ""};
}

std::string made_history(const ScratchDir& dir) {
  const std::string path = dir / "fleet.db";
  const auto file = HistoryFile::open(path, OpenMode::kCreate);
  CHECK(file.ok(), "{}", file.error().message);
  return path;
}

TEST(MachineActs, AreKeptOnceAndTold) {
  const ScratchDir dir;
  const std::string path = made_history(dir);
  EXPECT_THAT(*read_machine_acts(path), IsEmpty());
  MachineActRecord ended = started(1'800'000'300, "i-1");
  ended.act = MachineAct::kEnded;
  ended.failed = "UnauthorizedOperation";
  const std::vector<MachineActRecord> first = {ended, started(1'800'000'000, "i-2")};
  EXPECT_EQ(*keep_machine_acts(path, first), 2);
  EXPECT_EQ(*keep_machine_acts(path, first), 0) << "the same log again";
  const std::vector<MachineActRecord> second = {started(1'800'000'000, "i-2"), started(1'800'000'100, "i-1")};
  EXPECT_EQ(*keep_machine_acts(path, second), 1);
  EXPECT_THAT(*read_machine_acts(path), ElementsAre(started(1'800'000'000, "i-2"), started(1'800'000'100, "i-1"), ended));
  EXPECT_THAT(*HistoryFile::open(path, OpenMode::kReadOnly)->check(), IsEmpty());
  EXPECT_FALSE(keep_machine_acts(dir / "none.db", second).ok());
}

TEST(MachineActs, DamageIsSaid) {
  const ScratchDir dir;
  const std::string path = made_history(dir);
  const std::vector<MachineActRecord> one = {started(1, "i-1")};
  ASSERT_TRUE(keep_machine_acts(path, one).ok());
  ASSERT_TRUE(Database::open(path, DatabaseAccess::kReadWrite)->execute("UPDATE machine_act SET act = 'sold'").ok());
  EXPECT_THAT(read_machine_acts(path).error().message, HasSubstr("'sold'"));
  EXPECT_THAT(*HistoryFile::open(path, OpenMode::kReadOnly)->check(), SizeIs(1));
}

/// As schema 10 had it: without the table.
TEST(MachineActs, AnOlderHistoryHasNoneAndTakesThem) {
  const ScratchDir dir;
  const std::string path = made_history(dir);
  ASSERT_TRUE(Database::open(path, DatabaseAccess::kReadWrite)
                  ->execute("DROP TABLE machine_act; UPDATE meta SET value = '10' WHERE key = 'schema_version'")
                  .ok());
  EXPECT_THAT(*read_machine_acts(path), IsEmpty());
  const std::vector<MachineActRecord> one = {started(1, "i-1")};
  EXPECT_EQ(*keep_machine_acts(path, one), 1);
  EXPECT_THAT(*read_machine_acts(path), SizeIs(1));
  EXPECT_EQ(HistoryFile::open(path, OpenMode::kReadOnly)->info()->schema_version, 11);
}

}  // namespace
}  // namespace stint
