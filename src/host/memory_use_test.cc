#include "host/memory_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <thread>
#include <vector>

#include <filesystem>

#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using testing::HasSubstr;

class MemoryUseFiles : public testing::Test {
 protected:
  MemoryUseFiles() {
    std::filesystem::create_directories(proc_ + "/self");
    std::filesystem::create_directories(groups_ + "/pod/server");
    put_file(proc_ + "/self/statm", "5000 300 100 1 0 200 0\n");
    put_file(proc_ + "/self/cgroup", "1:name=systemd:/x\n0::/pod/server\n");
    put_file(proc_ + "/meminfo", "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    400 kB\n");
  }
  [[nodiscard]] Result<MemoryUse> read(std::optional<Bytes> limit = {}) const { return memory_use(limit, proc_, groups_); }

  ScratchDir scratch_;
  std::string proc_ = scratch_ / "proc", groups_ = scratch_ / "cgroup";
};

TEST_F(MemoryUseFiles, TheMachinesWhereNoGroupLimitsIt) {
  put_file(groups_ + "/pod/server/memory.max", "max\n");
  put_file(groups_ + "/pod/server/memory.current", "12345\n");
  const auto use = read();
  ASSERT_TRUE(use.ok()) << use.error().message;
  EXPECT_EQ(use->limit, Bytes::of(1000 << 10));
  EXPECT_EQ(use->used, Bytes::of(600 << 10));
  EXPECT_EQ(use->own, Bytes::of(300 * sysconf(_SC_PAGESIZE)));
}

TEST_F(MemoryUseFiles, TheNearestGroupWithALimitWithoutWhatIsOnlyCached) {
  put_file(groups_ + "/pod/server/memory.max", "max\n");
  put_file(groups_ + "/pod/memory.max", "8000\n");
  put_file(groups_ + "/pod/memory.current", "7000\n");
  put_file(groups_ + "/pod/memory.stat", "anon 6000\ninactive_file 900\nactive_file 100\n");
  const auto use = read();
  ASSERT_TRUE(use.ok()) << use.error().message;
  EXPECT_EQ(use->limit, Bytes::of(8000));
  EXPECT_EQ(use->used, Bytes::of(6100));
}

TEST_F(MemoryUseFiles, AGivenLimitIsOfThisProcessAlone) {
  const auto use = read(Bytes::of(99));
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->limit, Bytes::of(99));
  EXPECT_EQ(use->used, use->own);
}

TEST_F(MemoryUseFiles, AFileThatDoesNotTellIsNamed) {
  put_file(proc_ + "/meminfo", "MemTotal: many\n");
  EXPECT_THAT(read().error().message, HasSubstr("meminfo"));
  put_file(proc_ + "/self/statm", "");
  EXPECT_THAT(read().error().message, HasSubstr("statm"));
}

// g++ says so by a macro of its own, Clang by a feature.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST(MemoryUse, LargeBlocksOfAnyThreadGoBackWhenTheyAreFreed) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer has an allocator with rules that differ";
  give_back_large_blocks();
  int64_t kept = 0;
  std::thread([&kept] {
    const auto used = [] { return own_memory()->anonymous.count(); };
    const int64_t before = used();
    for (int round = 0; round < 3; ++round)
      std::vector<char>(size_t{16} << 20, 'x').shrink_to_fit();
    kept = used() - before;
  }).join();
  EXPECT_LT(kept, 4 << 20);
}

TEST(MemoryUse, OfThisMachineIsPlausible) {
  const auto use = memory_use({});
  ASSERT_TRUE(use.ok()) << use.error().message;
  EXPECT_GT(use->own, Bytes());
  EXPECT_GT(use->used, Bytes());
  EXPECT_GT(use->limit, use->own);
}

}  // namespace
}  // namespace stint
