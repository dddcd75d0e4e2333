#include "backends/local/kept_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr LaunchKey kFirst{.job = 7, .attempt = 0, .task = 0};
constexpr LaunchKey kSecond{.job = 7, .attempt = 1, .task = 0};

std::vector<LaunchKey> keys_in(const std::string& folder) {
  std::vector<LaunchKey> keys;
  for (const KeptLog& log : kept_logs(folder))
    keys.push_back(log.key);
  return keys;
}

class KeptLogs : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& content) { put_file(dir_ / name, content); }
  LogPiece read(const LaunchKey& key, bool output, bool error, int64_t offset = 0) {
    const auto piece = read_log(files_of_log(folder_, key),
                                {.key = key, .output = output, .error = error, .offset = offset, .limit = 1000, .ended = true});
    EXPECT_TRUE(piece.ok());
    return piece.ok() ? *piece : LogPiece();
  }
  ScratchDir dir_;
  std::string folder_ = dir_ / ".";
};

TEST_F(KeptLogs, WhatLiesThereIsToldByLaunch) {
  put("7.1.0.out", std::string(100'000, 'x'));
  put("7.0.0.out", "");
  put("7.0.0.err", "e");
  put("7.0.0.order", "");
  put("notes.out", "an operator's");
  const auto logs = kept_logs(folder_);
  ASSERT_EQ(logs.size(), 2U);
  EXPECT_EQ(logs[0].key, kFirst);
  EXPECT_EQ(logs[1].key, kSecond);
  EXPECT_GE(logs[1].bytes, Bytes::of(100'000 / 4096 * 4096));
  EXPECT_THAT(kept_logs(dir_ / "none"), IsEmpty());
}

TEST_F(KeptLogs, WhatWasTakenAwayTellsHowMuchThereWas) {
  put("7.0.0.out", std::string(5000, 'x'));
  put("7.0.0.err", "wrong\n");
  put("7.0.0.order", "");
  put("7.1.0.out", "second\n");
  ASSERT_TRUE(cut_log(folder_, kFirst).ok());
  EXPECT_THAT(keys_in(folder_), ElementsAre(kSecond));
  const LogPiece both = read(kFirst, true, true);
  EXPECT_EQ(both.bytes, "");
  EXPECT_EQ(both.size, 5006);
  EXPECT_EQ(both.offset, 5006) << "all before the end is gone";
  EXPECT_EQ(read(kFirst, false, true).size, 6);
  EXPECT_EQ(read(kFirst, true, false, -10).offset, 5000);
  EXPECT_EQ(read(kSecond, true, true).bytes, "second\n");
  struct stat left = {};
  ASSERT_EQ(::stat((dir_ / "cut/7.0.0.out").c_str(), &left), 0);
  EXPECT_EQ(left.st_blocks, 0) << "it takes no room";
  EXPECT_EQ(left.st_mode & 0777, 0600U);
}

TEST_F(KeptLogs, AfterACrashWithinItGoesOn) {
  put("7.0.0.err", "wrong\n");  // its output was taken away
  std::filesystem::create_directory(dir_ / "cut");
  put("cut/7.0.0.out", "");
  std::filesystem::resize_file(dir_ / "cut/7.0.0.out", 5000);
  EXPECT_EQ(read(kFirst, true, true).bytes, "wrong\n") << "what is left is read meanwhile";
  ASSERT_TRUE(cut_log(folder_, kFirst).ok());
  ASSERT_TRUE(cut_log(folder_, kFirst).ok()) << "and once more does no harm";
  EXPECT_EQ(read(kFirst, true, true).size, 5006);
}

TEST_F(KeptLogs, ALinkIsNotFollowed) {
  put("victim", "precious");
  std::filesystem::create_directory(dir_ / "cut");
  std::filesystem::create_symlink(dir_ / "victim", dir_ / "cut/7.0.0.out");
  put("7.0.0.out", "x");
  EXPECT_FALSE(cut_log(folder_, kFirst).ok());
  EXPECT_EQ(std::filesystem::file_size(dir_ / "victim"), 8U);
}

}  // namespace
}  // namespace stint
