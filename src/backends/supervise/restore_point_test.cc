#include "backends/supervise/restore_point.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>

#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RestorePointTest : public ::testing::Test {
 protected:
  RestorePointTest() { fs::create_directories(folder_); }
  void save(const std::string& name, const std::string& text, int age_s) const {
    put_file(folder_ + "/" + name, text);
    fs::last_write_time(folder_ + "/" + name, fs::file_time_type::clock::now() - std::chrono::seconds(age_s));
  }
  /// As a supervisor that saw it complete has it in its record.
  void know(const std::string& name) {
    const auto all = list_checkpoints(folder_).value();
    for (const Checkpoint& c : all)
      if (c.name == name)
        state_.add({.name = name, .signature = c.signature(), .digest = digest_of(folder_, c).value(), .saved_at = c.modified});
  }
  RestorePoint choose(Unproven unproven = Unproven::kRefused) const {
    return choose_restore_point(folder_, {.to = copies_}, {}, state_, unproven);
  }
  ScratchDir dir_;
  std::string folder_ = dir_ / "ck";
  std::string copies_ = dir_ / "copies";
  SupervisorState state_;
};

TEST_F(RestorePointTest, NothingThereIsTheBeginning) {
  EXPECT_FALSE(choose().chosen);
  EXPECT_THAT(choose().passed_over, IsEmpty());
}

TEST_F(RestorePointTest, BitsThatTurnedInAKnownOneAreNoticedWithoutAList) {
  save("a", "first", 100);
  save("b", "second", 50);
  know("a");
  know("b");
  const auto time = fs::last_write_time(folder_ + "/b");
  put_file(folder_ + "/b", "sEcond");
  fs::last_write_time(folder_ + "/b", time);  // the size and the time tell nothing
  const RestorePoint point = choose();
  ASSERT_TRUE(point.chosen);
  EXPECT_EQ(point.chosen->name, "a");
  EXPECT_THAT(point.passed_over, SizeIs(1));
  EXPECT_TRUE(fs::exists(folder_ + "/.damaged-b"));
}

TEST_F(RestorePointTest, OneNotSeenCompleteIsTakenOnlyFromAFolderNothingIsKnownOf) {
  save("a", "first", 100);
  EXPECT_EQ(choose(Unproven::kTaken).chosen->name, "a");
  EXPECT_FALSE(choose(Unproven::kRefused).chosen);
}

TEST_F(RestorePointTest, TheCopyStandsInForADamagedOne) {
  save("a", "first", 100);
  know("a");
  const auto all = list_checkpoints(folder_).value();
  ASSERT_TRUE(copy_checkpoint(folder_, all[0], state_.checkpoints[0].digest, copies_, {}).ok());
  const auto time = fs::last_write_time(folder_ + "/a");
  put_file(folder_ + "/a", "f1rst");
  fs::last_write_time(folder_ + "/a", time);
  const RestorePoint point = choose();
  ASSERT_TRUE(point.chosen);
  EXPECT_TRUE(point.fetched);
  EXPECT_EQ(read_all(folder_ + "/a").value(), "first");
}

TEST_F(RestorePointTest, IsReadBackAsItWasWritten) {
  save("a", "first", 100);
  RestorePoint point = choose(Unproven::kTaken);
  point.passed_over = {{"b\n", "why \"not\""}};
  const auto again = parse_restore_point(to_json(point));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, point);
  EXPECT_FALSE(parse_restore_point("{").ok());
}

}  // namespace
}  // namespace stint
