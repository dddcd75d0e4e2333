#include "cli/help_text.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(HelpText, GoesOnBelowTheTextBesideAnOption) {
  EXPECT_EQ(fitted_help("  --region REGION   only instances of this region and of no other\n", 44),
            "  --region REGION   only instances of this\n"
            "                    region and of no other\n");
}

TEST(HelpText, GoesOnWhereRunningTextBegan) {
  EXPECT_EQ(fitted_help("Exit codes: 0 done; 1 failed, reason on stderr", 30), "Exit codes: 0 done; 1 failed,\nreason on stderr");
  EXPECT_EQ(fitted_help("    a text that stands below its option\n", 30), "    a text that stands below\n    its option\n");
}

TEST(HelpText, ExamplesCanBeCopiedWhole) {
  EXPECT_EQ(fitted_help("Example: stint bill --history fleet.db --by project", 40),
            "Example: stint bill --history fleet.db \\\n"
            "  --by project");
}

TEST(HelpText, LeavesAllAsItIsWithoutAWidth) { EXPECT_EQ(fitted_help("  a  b c d\n", 0), "  a  b c d\n"); }

}  // namespace
}  // namespace stint
