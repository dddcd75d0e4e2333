// The walk of the forecaster through the past (telemetry/forecast.h): it says, waits, and learns from what came.
#pragma once

#include <array>
#include <deque>
#include <span>
#include <vector>

#include "telemetry/forecast.h"
#include "telemetry/forecast_intervals.h"

namespace stint {

using MethodValues = std::array<double, kForecastMethodCount>;

/// Distances 1, 2–3, 4–7, … are one class each: 0, 1, 2, …
size_t distance_class(size_t ahead);
/// The last step of a class: 1, 3, 7, …
inline size_t last_of_class(size_t distance) { return (size_t{2} << distance) - 1; }

/// What was said at one origin.
struct Said {
  size_t origin = 0;
  double roughness = 1;
  bool never_negative = true;         ///< the demand, so far
  std::vector<MethodValues> methods;  // per step ahead
  std::vector<ForecastPoint> points;
  size_t learned = 0;  // steps ahead whose values are in the experience
};

class ForecastWalk {
 public:
  /// Borrows the series.
  ForecastWalk(const DemandSeries& series, size_t horizon);

  /// What is said with the first `origin` values known, of which at least one is.
  [[nodiscard]] Said say(size_t origin) const;
  /// To be learned from when its time comes.
  void keep(Said said) { waiting_.push_back(std::move(said)); }
  /// Learns from all that was said about the first `known` values. A distance class is learned when all of it is known.
  void learn(size_t known);

  [[nodiscard]] size_t distances() const { return experience_.size(); }
  /// Of the methods, at a distance class; sum 1.
  [[nodiscard]] MethodValues weights(size_t distance) const { return experience_[usable(distance)].weights(); }

 private:
  /// What was learned at one distance.
  struct Experience {
    MethodValues errors{};  // mean absolute, older ones fading
    double weight = 0;
    ErrorPool pool;
    [[nodiscard]] MethodValues weights() const;
  };

  [[nodiscard]] size_t usable(size_t distance) const;
  void combine(size_t distance, Said& said) const;
  void learn(const Said& said, size_t first, size_t last);
  [[nodiscard]] double roughness(size_t origin) const;

  std::span<const std::optional<double>> values_;
  size_t horizon_;
  std::vector<size_t> seasons_;
  std::vector<Experience> experience_;  // by distance class
  std::deque<Said> waiting_;
};

}  // namespace stint
