#include "daemon/spending.h"

#include <algorithm>

#include "base/check.h"

namespace stint {

std::vector<SpendingPiece> spending_over(std::span<const RunView> runs, Interval window, size_t pieces, Currency currency) {
  const auto count = static_cast<int64_t>(pieces);
  CHECK(count >= 1 && window.length().count_ns() >= count, "{} pieces of {} ns", count, window.length().count_ns());
  const Duration length = Duration::nanoseconds(window.length().count_ns() / count);
  std::vector<SpendingPiece> curve(pieces);
  for (size_t i = 0; i < pieces; ++i)
    curve[i] = {.from = window.begin + length * static_cast<int64_t>(i), .cost = Money::nanos(0, currency)};
  const Instant end = window.begin + length * count;
  for (const RunView& run : runs) {
    const Instant began = std::max(run.started, window.begin);
    const Instant ended = std::min(run.ended.value_or(end), end);
    if (ended <= began) continue;
    for (auto i = static_cast<size_t>((began - window.begin).count_ns() / length.count_ns()); i < pieces; ++i) {
      const Instant to = std::min(ended, curve[i].from + length);
      const Instant since = std::max(began, curve[i].from);
      if (to <= since) break;
      curve[i].cost += run.rate.over(to - since);
      curve[i].gpu_milli_ms += run.gpu_milli * ((to - since).count_ns() / 1'000'000);
    }
  }
  return curve;
}

}  // namespace stint
