#include "sched/spot/regions_stint.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stint::sched {
namespace {

constexpr size_t kDraws = 128;
/// How often another zone is thought of while a spot machine runs.
constexpr int64_t kLookTicks = 3;
/// A move has to gain more than its own standard error times this.
constexpr double kSurety = 1;

/// Mean of a − b, less its standard error times kSurety.
double sure_gain(const RegionsFutures::Judged& a, const RegionsFutures::Judged& b) {
  const auto n = static_cast<double>(a.by_draw.size());
  double sum = 0;
  double squares = 0;
  for (size_t d = 0; d < a.by_draw.size(); ++d) {
    const double gain = a.by_draw[d] - b.by_draw[d];
    sum += gain;
    squares += gain * gain;
  }
  const double mean = sum / n;
  return mean - kSurety * std::sqrt(std::max(0.0, squares / n - mean * mean) / n);
}

}  // namespace

StintRegions::StintRegions(const RegionsTask& task, uint64_t seed)
    : task_(task),
      process_(std::make_shared<const ZoneProcess>()),
      futures_(task, *process_, kDraws),
      random_(seed),
      beliefs_(task.zones.size(), ZoneBelief(*process_)) {}

RegionsFutures::FirstAct StintRegions::launch(SpotTake take, size_t zone) const {
  return {.take = take, .zone = zone, .changeover_left_s = static_cast<double>(task_.changeover_s), .moves = true};
}

RegionsFutures::FirstAct StintRegions::stay(const RegionsMoment& now) const {
  return {.take = now.held, .zone = now.zone, .changeover_left_s = now.changeover_left_s, .moves = false};
}

void StintRegions::begin_tick(const RegionsMoment& now) {
  for (; tick_ < now.tick; ++tick_)
    if (tick_ >= 0)
      for (ZoneBelief& belief : beliefs_)
        belief.advance();
  if (now.lost) beliefs_[*now.lost].observe(false);
  if (now.held == SpotTake::kSpot) beliefs_[now.zone].observe(true);
  move_to_.reset();
  queue_.clear();
  if (now.held == SpotTake::kIdle)
    plan_tries(now);
  else if (now.held == SpotTake::kOnDemand || !futures_.is_cheap(now.zone) || now.tick % kLookTicks == 0)
    plan_probes(now);
  else
    phase_ = Phase::kDone;
}

void StintRegions::plan_tries(const RegionsMoment& now) {
  phase_ = Phase::kTry;
  futures_.draw(now, beliefs_, random_);
  const RegionsFutures::FirstAct on_demand = launch(SpotTake::kOnDemand, cheapest_on_demand(task_, now));
  futures_.shortlist_ways(now, std::array{RegionsFutures::FirstAct{}, on_demand});
  std::vector<size_t> worth;
  for (size_t z = 0; z < task_.zones.size(); ++z) {
    if (!may_have_capacity(z)) continue;
    const std::array<size_t, 1> given = {z};
    const RegionsFutures::Judged spot = futures_.judge(now, launch(SpotTake::kSpot, z), given);
    const RegionsFutures::Judged wait = futures_.judge(now, {}, given);
    if (futures_.is_cheap(z) ? sure_gain(spot, wait) > 0 : sure_gain(wait, spot) <= 0) continue;
    if (sure_gain(spot, futures_.judge(now, on_demand, given)) <= 0) worth.push_back(z);
  }
  queue_best_last(now, worth);
}

void StintRegions::plan_probes(const RegionsMoment& now) {
  phase_ = Phase::kProbe;
  futures_.draw(now, beliefs_, random_);
  futures_.shortlist_ways(now, std::array{stay(now)});
  std::vector<size_t> worth;
  for (size_t z = 0; z < task_.zones.size(); ++z) {
    if (!may_have_capacity(z) || (now.held == SpotTake::kSpot && z == now.zone)) continue;
    const std::array<size_t, 1> given = {z};
    const double probe = task_.zones[z].spot.per_hour().to_double() * static_cast<double>(task_.probe_s) / 3600;
    const double gain = sure_gain(futures_.judge(now, stay(now), given), futures_.judge(now, launch(SpotTake::kSpot, z), given));
    if (gain > probe) worth.push_back(z);
  }
  queue_best_last(now, worth);
}

/// As if all of them had capacity: which would be the best to be in?
void StintRegions::queue_best_last(const RegionsMoment& now, const std::vector<size_t>& zones) {
  std::vector<std::pair<double, size_t>> order;
  for (const size_t z : zones)
    order.emplace_back(zones.size() < 2 ? 0 : futures_.judge(now, launch(SpotTake::kSpot, z), zones).cost, z);
  std::sort(order.rbegin(), order.rend());
  for (const auto& [cost, zone] : order)
    queue_.push_back(zone);
}

bool StintRegions::may_have_capacity(size_t zone) const { return futures_.imagines(zone) && beliefs_[zone].chance_up() > 1e-6; }

RegionsAct StintRegions::next(const RegionsMoment& now) {
  if (move_to_) {
    phase_ = Phase::kDone;
    const RegionsAct act{RegionsAct::Kind::kSpot, *move_to_};
    move_to_.reset();
    return act;
  }
  if (phase_ == Phase::kDone) return {};
  if (!queue_.empty()) {
    const size_t zone = queue_.back();
    queue_.pop_back();
    return {phase_ == Phase::kTry ? RegionsAct::Kind::kSpot : RegionsAct::Kind::kProbe, zone};
  }
  const bool settles = phase_ == Phase::kTry;
  phase_ = Phase::kDone;
  return settles ? settle(now) : RegionsAct{};
}

/// Nothing was to be had: wait or go on-demand, with what the refusals said.
RegionsAct StintRegions::settle(const RegionsMoment& now) {
  futures_.draw(now, beliefs_, random_);
  const size_t zone = cheapest_on_demand(task_, now);
  if (sure_gain(futures_.judge(now, {}, {}), futures_.judge(now, launch(SpotTake::kOnDemand, zone), {})) <= 0) return {};
  return {RegionsAct::Kind::kOnDemand, zone};
}

void StintRegions::heard(const RegionsAct& act, bool started) {
  if (act.kind == RegionsAct::Kind::kOnDemand || act.kind == RegionsAct::Kind::kStop) return;
  beliefs_[act.zone].observe(started);
  if (!started) return;
  if (act.kind == RegionsAct::Kind::kProbe) {
    move_to_ = act.zone;
    queue_.clear();
  } else {
    phase_ = Phase::kDone;
    queue_.clear();
  }
}

}  // namespace stint::sched
