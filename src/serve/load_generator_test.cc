#include "serve/load_generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stint::serve {
namespace {

TEST(LoadGenerator, PoissonArrivalsComeAtTheirRate) {
  LoadShape shape;
  shape.per_second = 1000;
  shape.length = Duration::seconds(20);
  const std::vector<Duration> due = due_times(shape);
  EXPECT_TRUE(std::ranges::is_sorted(due));
  EXPECT_LT(due.back(), shape.length);
  EXPECT_NEAR(static_cast<double>(due.size()), 20'000, 5 * std::sqrt(20'000));
  EXPECT_EQ(due, due_times(shape));  // the same seed, the same load
}

TEST(LoadGenerator, ARampRisesInAStraightLine) {
  LoadShape shape;
  shape.per_second = 500;
  shape.per_second_at_end = 1500;
  shape.length = Duration::seconds(20);
  const std::vector<Duration> due = due_times(shape);
  EXPECT_TRUE(std::ranges::is_sorted(due));
  // ∫ 500 + 50·t: 10,000 + 10,000 over 20 s; 5,000 + 2,500 over the first ten.
  EXPECT_NEAR(static_cast<double>(due.size()), 20'000, 5 * std::sqrt(20'000));
  const auto half = std::ranges::lower_bound(due, Duration::seconds(10)) - due.begin();
  EXPECT_NEAR(static_cast<double>(half), 7'500, 5 * std::sqrt(7'500));
}

TEST(LoadGenerator, ARampMayFallToAlmostNothing) {
  LoadShape shape;
  shape.per_second = 1000;
  shape.per_second_at_end = 0.001;
  shape.length = Duration::seconds(10);
  const std::vector<Duration> due = due_times(shape);
  EXPECT_TRUE(std::ranges::is_sorted(due));
  EXPECT_NEAR(static_cast<double>(due.size()), 5'000, 5 * std::sqrt(5'000));
}

TEST(LoadGenerator, SaysWhenNoServerListens) {
  LoadTarget target{"127.0.0.1", 1, {"GET / HTTP/1.1\r\n\r\n"}, 1};
  EXPECT_FALSE(run_open_load(target, {Duration()}, Duration::seconds(1)).ok());
  target.address = "localhost";
  EXPECT_FALSE(run_closed_load(target, Duration::seconds(1)).ok());
}

}  // namespace
}  // namespace stint::serve
