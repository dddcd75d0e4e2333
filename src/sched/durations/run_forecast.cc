#include "sched/durations/run_forecast.h"

#include <algorithm>

namespace stint::sched {
namespace {

/// Less than that of all is a rounding error or an accident, no knowledge.
constexpr uint64_t kLeastMass = kWholeMass / 2048;

/// The part of a bin that lies behind `served`.
uint64_t mass_behind(const DurationMass& mass, int bin, Duration served) {
  const Duration begin = bin_begin(bin);
  const Duration end = bin_begin(bin + 1);
  if (served <= begin) return mass[static_cast<size_t>(bin)];
  const int64_t width_ms = std::max<int64_t>(1, (end - begin).count_ns() / 1'000'000);
  const int64_t left_ms = std::max<int64_t>(0, (end - served).count_ns() / 1'000'000);
  return mass[static_cast<size_t>(bin)] * static_cast<uint64_t>(left_ms) / static_cast<uint64_t>(width_ms);
}

}  // namespace

std::string_view name_of(Likeness l) {
  switch (l) {
    case Likeness::kAny: return "";
    case Likeness::kSize: return "size";
    case Likeness::kUser: return "user";
    case Likeness::kUserSize: return "user and size";
    case Likeness::kName: return "name";
    case Likeness::kNameSize: return "name and size";
    case Likeness::kScript: return "script";
  }
  return "";
}

Duration RunForecast::quantile(int per_mille, Duration served) const {
  const int first = bin_of(served);
  uint64_t total = mass_behind(mass_, first, served);
  for (int b = first + 1; b < kDurationBins; ++b)
    total += mass_[static_cast<size_t>(b)];
  if (total < kLeastMass) return std::max(served * 2, Duration::minutes(1));
  uint64_t wanted = total * static_cast<uint64_t>(per_mille) / 1000;
  for (int b = first; b < kDurationBins; ++b) {
    const uint64_t here = b == first ? mass_behind(mass_, b, served) : mass_[static_cast<size_t>(b)];
    if (wanted >= here) {
      wanted -= here;
      continue;
    }
    const Duration begin = std::max(bin_begin(b), served);
    const auto width_ms = static_cast<uint64_t>((bin_begin(b + 1) - begin).count_ns() / 1'000'000);
    return begin + Duration::milliseconds(static_cast<int64_t>(width_ms * wanted / here));
  }
  return bin_begin(kDurationBins);
}

Duration RunForecast::cost_of_an_end(Duration served) const {
  const int first = bin_of(served);
  const int64_t served_s = served.whole_seconds();
  uint64_t total = mass_behind(mass_, first, served);
  for (int b = first + 1; b < kDurationBins; ++b)
    total += mass_[static_cast<size_t>(b)];
  if (total < kLeastMass) return std::max(served, Duration::minutes(1));
  uint64_t ended = 0;   // chance to end within t
  uint64_t used_s = 0;  // by those that do, each its time
  int64_t best = INT64_MAX;
  for (int b = first; b < kDurationBins && ended < total; ++b) {
    const uint64_t here = b == first ? mass_behind(mass_, b, served) : mass_[static_cast<size_t>(b)];
    if (here == 0) continue;
    const int64_t end_s = std::max<int64_t>(bin_begin(b + 1).whole_seconds() - served_s, 1);
    const int64_t middle_s = (std::max(bin_begin(b).whole_seconds() - served_s, int64_t{0}) + end_s + 1) / 2;
    ended += here;
    used_s += here * static_cast<uint64_t>(middle_s);
    const uint64_t cost = (used_s + (total - ended) * static_cast<uint64_t>(end_s)) / ended;
    best = std::min(best, static_cast<int64_t>(cost));
  }
  return Duration::seconds(best);
}

}  // namespace stint::sched
