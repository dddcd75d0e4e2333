#include "cli/progress.h"

#include <gtest/gtest.h>

#include "report/utf8.h"

namespace stint {
namespace {

TEST(Progress, SaysHowFarTheWorkIsAndHowLongItTakes) {
  EXPECT_EQ(progress_text("exploring", 50, 100, 0, 80), "[###############...............]  50 % exploring");
  EXPECT_EQ(progress_text("exploring", 100, 100, 12, 80), "12 s [##############################] 100 % exploring");
  EXPECT_EQ(progress_text("fleet.csv", 2'500'000, 0, 3, 80), "3 s 2.5 MB fleet.csv");
}

TEST(Progress, IsThereBeforeTheWorkSaysAnything) {
  EXPECT_EQ(progress_text("http://prometheus:9090", 0, 0, 7, 80), "7 s http://prometheus:9090");
}

TEST(Progress, StaysOnOneLineOfTheTerminal) { EXPECT_LT(display_width(progress_text(std::string(300, 'x'), 1, 2, 5, 60)), 60U); }

}  // namespace
}  // namespace stint
