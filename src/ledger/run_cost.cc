#include "ledger/run_cost.h"

#include "base/check.h"

namespace stint {
namespace {

__extension__ using Wide = __int128;

}  // namespace

Money cost_of_run(Rate node_rate, int64_t held, int64_t capacity, Duration duration) {
  CHECK(held >= 0 && held <= capacity && duration >= Duration(), "{} of {} for {} ns", held, capacity, duration.count_ns());
  const Money hourly = node_rate.per_hour();
  if (capacity == 0 || held == 0) return Money::nanos(0, hourly.currency());
  // Whole hours first, so that the products stay far from 128 bits: rate 2^63 × held 2^40 does.
  const Wide nano_parts = Wide{hourly.count_nanos()} * held;  // per hour, in parts of `capacity`
  const int64_t hours = duration.count_ns() / kHour.count_ns();
  const int64_t rest_ns = duration.count_ns() % kHour.count_ns();
  const Wide divisor = Wide{capacity} * kHour.count_ns();
  const Wide from_hours = nano_parts * hours;
  Wide quotient = from_hours / capacity;
  // |remainder| < capacity, so times an hour of nanoseconds it fits beside the rest.
  const Wide left = (from_hours % capacity) * kHour.count_ns() + nano_parts * rest_ns;
  quotient += left / divisor;
  const Wide remainder = left % divisor;
  const Wide twice = (remainder < 0 ? -remainder : remainder) * 2;
  if (twice > divisor || (twice == divisor && quotient % 2 != 0)) quotient += left < 0 ? -1 : 1;
  CHECK(quotient <= INT64_MAX && quotient >= INT64_MIN, "a cost beyond what money holds");
  return Money::nanos(static_cast<int64_t>(quotient), hourly.currency());
}

}  // namespace stint
