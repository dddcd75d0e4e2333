#include "sched/spot/zone_belief.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace stint::sched {
namespace {

constexpr double kMostEnd = 0.95;
constexpr int kSettlingTicks = 4'000;

}  // namespace

ZoneProcess::ZoneProcess() {
  for (size_t kind = 0; kind < kKinds; ++kind)
    for (const bool up : {false, true})
      for (size_t a = 0; a < kAgeClasses; ++a) {
        const double c = up ? kUpEnds[kind / kDownEnds.size()] : kDownEnds[kind % kDownEnds.size()];
        const bool last = a + 1 == kAgeClasses;
        const double next = last ? 2.0 * kAges[a] : kAges[a + 1];
        const double age = std::sqrt(kAges[a] * (next - 1));
        const size_t s = state(kind, up, a);
        end_[s] = std::min(kMostEnd, c * std::pow(age, -kDecay));
        age_[s] = last ? 0 : 1.0 / (next - kAges[a]);
        log_stay_[s] = std::log1p(-(end_[s] + (1 - end_[s]) * age_[s]));
        stationary_[s] = a == 0 ? 1.0F : 0.0F;
      }
  for (int t = 0; t < kSettlingTicks; ++t)
    advance(stationary_);
  float sum = 0;
  for (const float w : stationary_)
    sum += w;
  for (float& w : stationary_)
    w /= sum;
}

void ZoneProcess::advance(std::span<float> weights) const {
  for (size_t kind = 0; kind < kKinds; ++kind) {
    std::array<float, 2> begun = {0, 0};
    for (const bool up : {false, true}) {
      float aged = 0;
      for (size_t a = 0; a < kAgeClasses; ++a) {
        const size_t s = state(kind, up, a);
        const float ends = weights[s] * static_cast<float>(end_[s]);
        const float ages = (weights[s] - ends) * static_cast<float>(age_[s]);
        begun[up ? 0 : 1] += ends;
        weights[s] += aged - ends - ages;
        aged = ages;
      }
    }
    weights[state(kind, false, 0)] += begun[0];
    weights[state(kind, true, 0)] += begun[1];
  }
}

void ZoneProcess::draw(size_t state, Prng& random, std::span<uint8_t> out) const {
  size_t at = 0;
  while (at < out.size()) {
    // Ticks in this state: geometric, at least one.
    const double wait = std::log1p(-random.uniform()) / log_stay_[state];
    const size_t ticks = std::min(out.size() - at, static_cast<size_t>(std::min(wait, 1e9)) + 1);
    std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(at), ticks, is_up(state) ? uint8_t{1} : uint8_t{0});
    at += ticks;
    const double ends = end_[state];
    const double ages = (1 - ends) * age_[state];
    if (random.uniform() * (ends + ages) < ages)
      ++state;
    else
      state = (state / kAgeClasses ^ 1) * kAgeClasses;
  }
}

ZoneBelief::ZoneBelief(const ZoneProcess& process) : process_(&process) {
  std::ranges::copy(process.stationary(), weights_.begin());
}

void ZoneBelief::observe(bool up) {
  const double chance = up ? chance_up() : 1 - chance_up();
  CHECK(chance > 0, "what is seen of a zone was held for impossible");
  for (size_t s = 0; s < weights_.size(); ++s)
    weights_[s] = ZoneProcess::is_up(s) == up ? weights_[s] / static_cast<float>(chance) : 0;
}

double ZoneBelief::chance_up() const {
  double up = 0;
  double all = 0;
  for (size_t s = 0; s < weights_.size(); ++s) {
    all += weights_[s];
    if (ZoneProcess::is_up(s)) up += weights_[s];
  }
  return up / all;
}

void ZoneBelief::draw_states(Prng& random, bool only_up, std::span<uint16_t> out) const {
  double all = 0;
  for (size_t s = 0; s < weights_.size(); ++s)
    if (!only_up || ZoneProcess::is_up(s)) all += weights_[s];
  const double step = all / static_cast<double>(out.size());
  double until = step * random.uniform();
  size_t drawn = 0;
  double sum = 0;
  size_t last = 0;
  for (size_t s = 0; s < weights_.size() && drawn < out.size(); ++s) {
    if (weights_[s] <= 0 || (only_up && !ZoneProcess::is_up(s))) continue;
    sum += weights_[s];
    last = s;
    for (; drawn < out.size() && until < sum; until += step)
      out[drawn++] = static_cast<uint16_t>(s);
  }
  while (drawn < out.size())  // what rounding left
    out[drawn++] = static_cast<uint16_t>(last);
  for (size_t i = out.size(); i > 1; --i)
    std::swap(out[i - 1], out[random.below(i)]);
}

}  // namespace stint::sched
