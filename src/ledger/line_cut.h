// Bill lines cut to a period in proportion to time, exactly.
#pragma once

#include <optional>

#include "model/bill.h"

namespace stint {

/// How much of a charge lies in a period, in nanoseconds. A charge without length is an instant: in or out.
struct LineCut {
  Interval within;      ///< the common part
  int64_t inside = 0;   ///< length of the common part; 1 for an instant
  int64_t outside = 0;  ///< length of the rest
  int64_t before = 0;   ///< of that, what lies before the common part
  [[nodiscard]] bool whole() const { return outside == 0; }
};

/// What comes of `amount`, spread evenly over [0, whole), between two instants of it: parts that join sum to what they make up.
Money share_between(Money amount, int64_t begin, int64_t end, int64_t whole);

/// @return none when the line does not touch the period.
std::optional<LineCut> cut_of(const BillLine& line, Interval period);

/// The line with its charge period and every amount cut, so that the cuts of any partition sum to the line; quantity is left as it was (it is text for people).
BillLine cut_line(const BillLine& line, const LineCut& cut);

/// Hours of one machine the line charges for, when its unit is the hour: cut like the line. none = not said.
std::optional<Duration> billed_hours(const BillLine& line, const LineCut& cut);

}  // namespace stint
