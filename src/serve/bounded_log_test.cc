#include "serve/bounded_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint::serve {
namespace {

using testing::Optional;

constexpr Instant kStart = Instant::from_ns(0);

TEST(BoundedLog, AMessageIsOneLineOfPrintableCharacters) {
  BoundedLog log;
  EXPECT_THAT(log.line("idx=7\nstint: all is \x1b[31mwell\xff\x7f", kStart),
              Optional(std::string("idx=7\\x0astint: all is \\x1b[31mwell\\xff\\x7f")));
}

TEST(BoundedLog, ALongMessageIsCut) {
  BoundedLog log;
  EXPECT_THAT(log.line(std::string(1'000'000, 'a'), kStart), Optional(std::string(BoundedLog::kMostBytes, 'a') + "..."));
}

TEST(BoundedLog, FewLinesAMinuteAndTheNextOneCountsTheRest) {
  BoundedLog log;
  for (int64_t i = 0; i < BoundedLog::kLines; ++i)
    EXPECT_TRUE(log.line("bad", kStart));
  for (int i = 0; i < 25; ++i)
    EXPECT_FALSE(log.line("bad", kStart + BoundedLog::kWindow - Duration::nanoseconds(1)));
  EXPECT_THAT(log.line("bad", kStart + BoundedLog::kWindow), Optional(std::string("bad (25 lines before it left out)")));
  EXPECT_THAT(log.line("bad", kStart + BoundedLog::kWindow), Optional(std::string("bad")));
}

}  // namespace
}  // namespace stint::serve
