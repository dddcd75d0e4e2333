// What was said compared with what came, and with what the methods to beat would have said.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "telemetry/forecast_walk.h"

namespace stint {

class ForecastScores {
 public:
  /// Borrows the series. @param season  of the seasonal-naive to beat. @param distances  classes of distance.
  ForecastScores(const DemandSeries& series, size_t season, size_t distances);

  /// @param said  at ascending origins. Nothing is compared as long as seasonal-naive made no error in the past.
  void add(const Said& said, std::vector<BacktestValue>& backtest);

  [[nodiscard]] ForecastScore total() const { return total_.score(); }
  [[nodiscard]] ForecastScore at(size_t distance) const { return by_distance_[distance].score(); }

 private:
  struct Tally {
    size_t origins = 0;
    size_t compared = 0;
    size_t inside = 0;
    double error = 0, scaled = 0, naive = 0, seasonal = 0;
    MethodValues methods{};
    void count(const Said& said, size_t h, double actual, double seasonal_naive, double scale);
    [[nodiscard]] ForecastScore score() const;
  };
  std::optional<double> scale_up_to(size_t known);

  std::span<const std::optional<double>> values_;
  size_t season_;
  size_t scaled_ = 0;  // values the scale has seen
  double scale_sum_ = 0;
  double size_sum_ = 0;  // of the same values
  double scale_count_ = 0;
  Tally total_;
  std::vector<Tally> by_distance_;
};

}  // namespace stint
