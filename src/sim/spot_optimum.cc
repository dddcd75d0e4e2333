#include "sim/spot_optimum.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace stint::sim {
namespace {

constexpr int64_t kOutOfReach = std::numeric_limits<int64_t>::max() / 2;
constexpr int64_t kMostCost = kOutOfReach / 2;
constexpr int64_t kMostSteps = int64_t{1} << 22;

}  // namespace

Result<SpotOptimum> SpotOptimum::create(const sched::SpotTask& task, const SpotPrices& prices) {
  TRY(task.check());
  const int64_t step_s = std::gcd(std::gcd(task.tick_s, task.changeover_s), task.work_s);
  const int64_t ticks = task.deadline_s / task.tick_s;
  const int64_t most_lost = (ticks * task.tick_s - task.work_s) / step_s;
  if (most_lost + (task.tick_s + task.changeover_s) / step_s > kMostSteps)
    return invalid(
        "the optimum needs {} states a tick, more than {}: tick, changeover and work have only {} s as common measure; "
        "round them",
        most_lost, kMostSteps, step_s);
  const int64_t on_demand = prices.on_demand.per_hour().count_nanos();
  const int64_t spot = prices.spot.per_hour().count_nanos();
  const int64_t dearest = kMostCost / (ticks + 1) / (ticks + 1);
  if (on_demand <= 0 || spot <= 0 || on_demand >= dearest || spot >= dearest)
    return invalid("prices must be above 0 and below {} an hour for {} ticks", Money::nanos(dearest).to_decimal(), ticks);
  SpotOptimum made;
  made.scale_ = ticks + 1;
  made.on_demand_cost_ = on_demand * made.scale_ + 1;
  made.spot_cost_ = spot * made.scale_;
  made.ticks_ = static_cast<size_t>(ticks);
  made.tick_ = static_cast<size_t>(task.tick_s / step_s);
  made.changeover_ = static_cast<size_t>(task.changeover_s / step_s);
  made.work_ = static_cast<size_t>(task.work_s / step_s);
  made.most_lost_ = static_cast<size_t>(most_lost);
  made.pad_ = std::max(made.tick_, made.changeover_);
  made.reset(made.next_);
  return made;
}

void SpotOptimum::reset(Layer& layer) const {
  for (std::vector<int64_t>* costs : {&layer.idle, &layer.spot, &layer.on_demand})
    costs->assign(pad_ + most_lost_ + 1, kOutOfReach);
}

SpotRun SpotOptimum::solve(std::span<const uint8_t> available) {
  CHECK(available.size() >= ticks_, "{} ticks of capacity for {} before the deadline", available.size(), ticks_);
  reset(now_);
  now_.idle[pad_] = 0;
  int64_t least = kOutOfReach;
  SpotRun best;
  for (size_t t = 0; t < ticks_; ++t) {
    pass_tick(available[t] != 0);
    const int64_t cost = least_done(t + 1);
    if (cost >= least) continue;
    least = cost;
    best.ticks = static_cast<int64_t>(t) + 1;
  }
  CHECK(least < kOutOfReach, "no run meets the deadline, though on-demand does");
  best.on_demand_ticks = least % scale_;
  best.spot_ticks = (least - best.on_demand_ticks * on_demand_cost_) / spot_cost_;
  return best;
}

void SpotOptimum::pass_tick(bool available) {
  const int64_t* idle = now_.idle.data() + pad_;
  const int64_t* spot = now_.spot.data() + pad_;
  const int64_t* on_demand = now_.on_demand.data() + pad_;
  int64_t* next_idle = next_.idle.data() + pad_;
  int64_t* next_spot = next_.spot.data() + pad_;
  int64_t* next_on_demand = next_.on_demand.data() + pad_;
  const auto tick = static_cast<std::ptrdiff_t>(tick_);
  const auto changeover = static_cast<std::ptrdiff_t>(changeover_);
  const auto end = static_cast<std::ptrdiff_t>(most_lost_) + 1;
  for (std::ptrdiff_t l = 0; l < end; ++l) {
    next_idle[l] = std::min(idle[l - tick], std::min(spot[l - tick], on_demand[l - tick]));
    const int64_t begun = std::min(idle[l - changeover], spot[l - changeover]);
    next_on_demand[l] = std::min(on_demand[l], begun) + on_demand_cost_;
  }
  if (available)
    for (std::ptrdiff_t l = 0; l < end; ++l)
      next_spot[l] = std::min(spot[l], std::min(idle[l - changeover], on_demand[l - changeover])) + spot_cost_;
  else
    std::fill(next_spot, next_spot + end, kOutOfReach);
  std::swap(now_, next_);
}

int64_t SpotOptimum::least_done(size_t ticks) const {
  if (ticks * tick_ < work_) return kOutOfReach;
  const size_t end = std::min(ticks * tick_ - work_, most_lost_) + 1;
  int64_t least = kOutOfReach;
  for (size_t l = end > tick_ ? end - tick_ : 0; l < end; ++l)
    least = std::min({least, now_.spot[pad_ + l], now_.on_demand[pad_ + l]});
  return least;
}

}  // namespace stint::sim
