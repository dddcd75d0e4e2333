#include "sched/queues/usage_decay.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace stint::sched {
namespace {

__extension__ using Wide = __int128;

constexpr int kOneShift = 62;
// 2^(−2^k/128) · 2^62 for k = 0 … 6, rounded to the nearest.
constexpr std::array<int64_t, 7> kLeftAfter = {0x3fa784571ee3e213, 0x3f4f83033d21b05d, 0x3ea0ecb6dc8a80cf, 0x3d495f454921b30b,
                                               0x3ab031b9f7490e4c, 0x35d13f32b5a75abd, 0x2d413cccfe779921};

Wide shift_to_nearest(Wide value, int by) { return (value + (Wide{1} << (by - 1))) >> by; }

/// What is left of `value` after so many ticks.
int64_t faded(int64_t value, int64_t ticks) {
  if (value == 0 || ticks == 0) return value;
  const int64_t halvings = ticks / DecayClock::kTicksPerHalfLife;
  if (halvings > kOneShift) return 0;
  Wide left = Wide{1} << kOneShift;
  for (size_t k = 0; k < kLeftAfter.size(); ++k)
    if ((ticks >> k & 1) != 0) left = shift_to_nearest(left * kLeftAfter[k], kOneShift);
  return static_cast<int64_t>(shift_to_nearest(left * value, kOneShift + static_cast<int>(halvings)));
}

}  // namespace

DecayClock::DecayClock(Duration half_life)
    : tick_(half_life > Duration() ? Duration::nanoseconds(std::max<int64_t>(1, half_life.count_ns() / kTicksPerHalfLife))
                                   : Duration()) {}

void DecayedLevel::change(const DecayClock& clock, int64_t level, Instant now) {
  CHECK(level >= 0 && level <= int64_t{1} << 60, "a level of {}", level);
  const int64_t tick = clock.tick_at(now);
  if (tick > tick_) {
    average_ = average(clock, tick);
    tick_ = tick;
    area_ = 0;
    since_ = clock.begin_of(tick);
  }
  area_ += Area{level_} * (now - since_).count_ns();
  since_ = now;
  level_ = level;
}

int64_t DecayedLevel::average(const DecayClock& clock, int64_t tick) const {
  if (tick == tick_) return average_;
  // Through the tick in which the level changed, then at one level.
  const Duration tick_length = clock.tick();
  const Area whole = area_ + Area{level_} * (clock.begin_of(tick_ + 1) - since_).count_ns();
  const auto in_tick = static_cast<int64_t>(whole / tick_length.count_ns());
  const int64_t after_tick = in_tick + faded(average_ - in_tick, 1);
  return level_ + faded(after_tick - level_, tick - tick_ - 1);
}

}  // namespace stint::sched
