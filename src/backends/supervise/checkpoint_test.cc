#include "backends/supervise/checkpoint.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/sha256.h"
#include "host/testing_files.h"

namespace stint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() { fs::create_directories(folder_); }

  /// A folder of two files whose list proves them; `age` puts it into the past.
  void save(const std::string& name, const std::string& text, int age_s) const {
    const std::string base = folder_ + "/" + name;
    fs::create_directories(base);
    put_file(base + "/model.bin", text);
    put_file(base + "/optimizer.bin", text + text);
    put_file(base + "/SHA256SUMS", sha256_of_file(base + "/model.bin").value() + "  model.bin\n" +
                                       sha256_of_file(base + "/optimizer.bin").value() + " *optimizer.bin\n");
    for (const char* file : {"/model.bin", "/optimizer.bin", "/SHA256SUMS"})
      age(name + file, age_s);
  }
  void age(const std::string& file, int seconds) const {
    fs::last_write_time(folder_ + "/" + file, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }
  [[nodiscard]] std::vector<std::string> names(const std::string& folder) const {
    std::vector<std::string> found;
    const auto listed = list_checkpoints(folder).value();
    for (const Checkpoint& c : listed)
      found.push_back(c.name);
    return found;
  }
  [[nodiscard]] Checkpoint newest() const { return list_checkpoints(folder_).value().at(0); }

  ScratchDir dir_;
  std::string folder_ = dir_ / "checkpoints";
};

TEST(NaturalLess, TakesNumbersAsNumbers) {
  EXPECT_TRUE(natural_less("step-9", "step-10"));
  EXPECT_FALSE(natural_less("step-10", "step-9"));
  EXPECT_TRUE(natural_less("a1b2", "a1b10"));
  EXPECT_TRUE(natural_less("a", "a1"));
  EXPECT_FALSE(natural_less("x", "x"));
  EXPECT_NE(natural_less("s-007", "s-7"), natural_less("s-7", "s-007")) << "an order also for these";
}

TEST_F(CheckpointTest, AreFoundNewestFirstAndDraftsAreNone) {
  EXPECT_THAT(names(dir_ / "nowhere"), IsEmpty());
  save("step-9", "a", 10);
  save("step-10", "b", 10);
  save("step-2", "c", 5);
  put_file(folder_ + "/final.pt", "x");
  age("final.pt", 20);
  for (const char* draft : {"step-11.tmp", ".hidden", "model.partial", "final.pt.sha256"})
    put_file(folder_ + "/" + draft, "x");
  fs::create_directories(folder_ + "/empty");
  ASSERT_TRUE(point_latest_at(folder_, "step-9").ok());
  const auto found = names(folder_);
  // final.pt counts as of its list, which is new; of equally old ones the greater number is the newer.
  EXPECT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0], "final.pt");
  EXPECT_EQ(found[1], "step-2");
}

TEST_F(CheckpointTest, AListProvesItWhole) {
  save("step-1", "hello", 1);
  ASSERT_TRUE(digest_of(folder_, newest()).ok());
  put_file(folder_ + "/step-1/model.bin", "hellO");
  EXPECT_THAT(digest_of(folder_, newest()).error().message, HasSubstr("model.bin"));
  fs::remove(folder_ + "/step-1/model.bin");
  EXPECT_THAT(digest_of(folder_, newest()).error().message, HasSubstr("missing"));
  put_file(folder_ + "/step-1/SHA256SUMS", "");
  EXPECT_FALSE(digest_of(folder_, newest()).ok());
}

TEST_F(CheckpointTest, AListBesideAFileProvesIt) {
  put_file(folder_ + "/a.pt", "weights");
  put_file(folder_ + "/a.pt.sha256", sha256_of_file(folder_ + "/a.pt").value() + "  a.pt\n");
  ASSERT_TRUE(newest().has_list);
  EXPECT_TRUE(digest_of(folder_, newest()).ok());
  put_file(folder_ + "/a.pt", "weightz");
  EXPECT_FALSE(digest_of(folder_, newest()).ok());
}

TEST_F(CheckpointTest, TheSignatureChangesWithAnyFile) {
  save("step-1", "hello", 100);
  const std::string before = newest().signature();
  EXPECT_EQ(newest().signature(), before);
  put_file(folder_ + "/step-1/extra", "");
  EXPECT_NE(newest().signature(), before);
}

TEST_F(CheckpointTest, IsCopiedWholeWithItsTimesAndReplacesAnOlderOne) {
  save("step-1", "old", 100);
  const std::string to = dir_ / "far/away";
  ASSERT_TRUE(copy_checkpoint(folder_, newest(), digest_of(folder_, newest()).value(), to, {}).ok());
  save("step-1", "newer", 50);
  const Checkpoint c = newest();
  const Status copied = copy_checkpoint(folder_, c, digest_of(folder_, c).value(), to, {});
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  const auto there = list_checkpoints(to).value();
  ASSERT_EQ(there.size(), 1U);
  EXPECT_EQ(there[0].signature(), c.signature());
  EXPECT_EQ(digest_of(to, there[0]).value(), digest_of(folder_, c).value());
  EXPECT_EQ(std::distance(fs::directory_iterator(to), fs::directory_iterator()), 1) << "no draft is left";

  put_file(folder_ + "/one.pt", "x");
  put_file(folder_ + "/one.pt.sha256", sha256_of_file(folder_ + "/one.pt").value() + "  one.pt\n");
  ASSERT_TRUE(copy_checkpoint(folder_, newest(), digest_of(folder_, newest()).value(), to, {}).ok());
  EXPECT_TRUE(digest_of(to, list_checkpoints(to).value().at(0)).ok());
}

TEST_F(CheckpointTest, ACopyOfSomethingElseIsRefused) {
  save("step-1", "hello", 100);
  const Checkpoint c = newest();
  const std::string digest = digest_of(folder_, c).value();
  put_file(folder_ + "/step-1/model.bin", "jello");
  const std::string to = dir_ / "far";
  EXPECT_FALSE(copy_checkpoint(folder_, c, digest, to, {}).ok());
  EXPECT_THAT(names(to), IsEmpty());
}

TEST_F(CheckpointTest, ACopyKeepsToItsRate) {
  put_file(folder_ + "/a", std::string(10'000'000, 'x'));
  Duration slept;
  CopyOptions options;
  options.bytes_per_second = 1'000'000;
  options.sleep = [&](Duration d) { slept = std::max(slept, d); };
  ASSERT_TRUE(copy_checkpoint(folder_, newest(), digest_of(folder_, newest()).value(), dir_ / "far", options).ok());
  EXPECT_GT(slept, Duration::seconds(5)) << "ten seconds less what the copy took, which is asleep only in name here";
}

TEST_F(CheckpointTest, LatestIsALinkAndNothingElseIsTouched) {
  save("step-1", "a", 2);
  save("step-2", "b", 1);
  ASSERT_TRUE(point_latest_at(folder_, "step-1").ok());
  ASSERT_TRUE(point_latest_at(folder_, "step-2").ok());
  EXPECT_EQ(fs::read_symlink(folder_ + "/latest"), "step-2");
  fs::remove(folder_ + "/latest");
  put_file(folder_ + "/latest", "the training program's own");
  EXPECT_EQ(point_latest_at(folder_, "step-1").error().code, ErrorCode::kConflict);
  EXPECT_EQ(read_all(folder_ + "/latest").value(), "the training program's own");
}

TEST_F(CheckpointTest, WhatIsSetAsideIsNoCheckpointAnyMore) {
  save("step-1", "a", 2);
  ASSERT_TRUE(set_aside(folder_, "step-1").ok());
  EXPECT_THAT(names(folder_), IsEmpty());
  EXPECT_TRUE(fs::exists(folder_ + "/.damaged-step-1/model.bin")) << "but not lost either";
}

}  // namespace
}  // namespace stint
