// Prices that change with time: what a machine costs in some hours of the week, or from some instants on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "model/change.h"
#include "model/fleet.h"

namespace stint {

/// Of whole machines. It holds in its hours, or since its first point; elsewhere it says nothing.
struct PriceRule {
  std::vector<std::string> machines;  ///< names, or globs with * and ?
  WeekHours hours;                    ///< UTC; none = by points
  Rate rate;                          ///< in those hours
  std::vector<RatePoint> points;      ///< ascending; none = by hours
  bool operator==(const PriceRule&) const = default;
};
/// Places in `rules` of those that name the machine, ascending.
std::vector<uint32_t> rules_naming(std::string_view machine, std::span<const PriceRule> rules);

/// What one machine costs over time: of the rules that name it the first that says something at an instant, else its own rate.
/// It refers to what it is made of.
class MachinePrices {
 public:
  /// "Never again".
  static constexpr Instant kNoChange = Instant::from_ns(std::numeric_limits<int64_t>::max());

  MachinePrices(Rate own, std::span<const PriceRule> rules, std::span<const uint32_t> naming)
      : own_(own), rules_(rules), naming_(naming) {}

  [[nodiscard]] bool vary() const { return !naming_.empty(); }
  [[nodiscard]] Rate at(Instant t) const;
  /// The first instant after `t` with another rate than at `t`; of hours of the week looked for over a year.
  [[nodiscard]] Instant next_change(Instant t) const;
  /// The highest there is at any time.
  [[nodiscard]] Rate most() const;

  /// Over the time of `when`, rounded down to the nano-unit; of an empty one that of its begin.
  [[nodiscard]] Rate mean_over(Interval when) const;

  /// Calls piece(Interval, Rate) for the parts of `when` with one rate each, ascending.
  template <typename Piece>
  void over(Interval when, Piece&& piece) const {
    for (Instant from = when.begin; from < when.end;) {
      const Instant to = vary() ? std::min(next_change(from), when.end) : when.end;
      piece(Interval{from, to}, at(from));
      from = to;
    }
  }

 private:
  [[nodiscard]] Instant next_boundary(Instant t) const;

  Rate own_;
  std::span<const PriceRule> rules_;
  std::span<const uint32_t> naming_;
};

}  // namespace stint
