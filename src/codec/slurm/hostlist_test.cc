#include "codec/slurm/hostlist.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

std::vector<std::string> expand(std::string_view text) {
  auto names = expand_hostlist(text);
  EXPECT_TRUE(names.ok()) << names.error().message;
  return names.ok() ? names.value() : std::vector<std::string>();
}

using Names = std::vector<std::string>;

TEST(Hostlist, PlainNamesRangesAndPadding) {
  EXPECT_EQ(expand("gpu1"), (Names{"gpu1"}));
  EXPECT_EQ(expand("node[01-03,7],gpu5"), (Names{"node01", "node02", "node03", "node7", "gpu5"}));
  EXPECT_EQ(expand("n[9-11]"), (Names{"n9", "n10", "n11"}));
  EXPECT_EQ(expand("n[098-101]-ib"), (Names{"n098-ib", "n099-ib", "n100-ib", "n101-ib"}));
  EXPECT_EQ(expand(""), Names{});
}

TEST(Hostlist, SeveralGroupsMultiply) { EXPECT_EQ(expand("r[1-2]n[1,3]"), (Names{"r1n1", "r1n3", "r2n1", "r2n3"})); }

TEST(Hostlist, RefusesWhatIsNoList) {
  for (const char* text : {"n[1-", "n]1[", "n[3-1]", "n[]", "n[a-b]", ",a", "n[1-100001]", "n[1-1000]x[1-1000]", "n[1--2]"})
    EXPECT_FALSE(expand_hostlist(text).ok()) << text;
}

}  // namespace
}  // namespace stint
