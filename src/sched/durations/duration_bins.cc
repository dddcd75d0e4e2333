#include "sched/durations/duration_bins.h"

#include <algorithm>
#include <bit>

namespace stint::sched {
namespace {

constexpr int64_t kHalfOctaveMicros = 1'414'214;  // √2 s

}  // namespace

Duration bin_begin(int bin) {
  if (bin <= 0) return {};
  const int64_t octave = int64_t{1} << (bin / 2);
  return bin % 2 == 0 ? Duration::seconds(octave) : Duration::nanoseconds(octave * kHalfOctaveMicros * 1000);
}

int bin_of(Duration d) {
  const int64_t seconds = d.whole_seconds();
  if (seconds < 1) return 0;
  const int even = 2 * (static_cast<int>(std::bit_width(static_cast<uint64_t>(seconds))) - 1);
  return std::min(kDurationBins - 1, d >= bin_begin(even + 1) ? even + 1 : even);
}

}  // namespace stint::sched
