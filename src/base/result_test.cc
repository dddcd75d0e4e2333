#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace stint {
namespace {

Result<int> positive(int n) {
  if (n <= 0) return invalid("{} is not positive", n);
  return n;
}

Result<int> sum(int a, int b) {
  TRY_ASSIGN(const int x, positive(a));
  TRY_ASSIGN(const int y, positive(b));
  return x + y;
}

Status both(int a, int b) {
  TRY(positive(a));
  TRY(positive(b));
  return {};
}

TEST(Result, CarriesTheValueOrTheFirstError) {
  EXPECT_EQ(sum(1, 2).value(), 3);
  EXPECT_EQ(sum(-1, -2).error().message, "-1 is not positive");
  EXPECT_TRUE(both(1, 1).ok());
  EXPECT_EQ(both(1, 0).error().message, "0 is not positive");
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> r = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = std::move(r).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Result, AValueThatIsNotThereAborts) {
  EXPECT_DEATH((void)positive(0).value(), "0 is not positive");
  EXPECT_DEATH((void)positive(1).error(), "good result");
}

}  // namespace
}  // namespace stint
