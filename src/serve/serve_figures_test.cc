// The rate of requests that a server tells: quick to rise, slow to fall, deaf to chance.
#include "serve/serve_figures.h"

#include <gtest/gtest.h>

#include <random>

namespace stint::serve {
namespace {

class Rate : public ::testing::Test {
 protected:
  /// Requests by Poisson.
  void load(double per_second, Duration length) {
    std::exponential_distribution<double> gap(per_second);
    const Instant end = now_ + length;
    for (Instant next = now_;;) {
      next = next + Duration::from_seconds(gap(random_));
      if (next >= end) break;
      book_.came(next);
    }
    now_ = end;
  }
  [[nodiscard]] double told() const { return book_.read(now_).per_second; }

  std::mt19937_64 random_{1};
  Instant now_ = Instant::from_seconds(1'000'000);
  FigureBook book_;
};

TEST_F(Rate, IsWhatComes) {
  load(200, Duration::minutes(5));
  EXPECT_NEAR(told(), 200, 20);
}

TEST_F(Rate, ARiseShowsWithinSeconds) {
  load(100, Duration::minutes(5));
  load(400, Duration::seconds(10));
  EXPECT_GT(told(), 280);
  load(400, Duration::seconds(10));
  EXPECT_GT(told(), 350);
}

TEST_F(Rate, AFallShowsOverAMinute) {
  load(400, Duration::minutes(5));
  load(100, Duration::seconds(10));
  EXPECT_GT(told(), 300);
  load(100, Duration::minutes(3));
  EXPECT_NEAR(told(), 100, 15);
}

TEST_F(Rate, ChanceIsNoRise) {
  load(1, Duration::minutes(5));
  double most = 0;
  int risen = 0;
  for (int i = 0; i < 200; ++i) {
    load(1, Duration::seconds(10));
    most = std::max(most, told());
    risen += told() > 1.8 ? 1 : 0;
  }
  EXPECT_LE(risen, 4) << "three deviations, at " << most;
}

TEST_F(Rate, NothingIsNone) { EXPECT_EQ(told(), 0); }

}  // namespace
}  // namespace stint::serve
