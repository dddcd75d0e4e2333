#include "sched/spot/regions_uniform.h"

#include <algorithm>
#include <numeric>

namespace stint::sched {

double UniformRule::ahead_s(const RegionsMoment& now, double elapsed_s) const {
  return task_.work_s - now.work_left_s - elapsed_s * task_.work_s / task_.deadline_s();
}

UniformAnswer UniformRule::ask(const RegionsMoment& now, SpotTake held, bool spot_assumed) const {
  const auto elapsed_s = static_cast<double>(now.tick * task_.tick_s);
  const bool well_ahead = ahead_s(now, elapsed_s + static_cast<double>(2 * task_.changeover_s)) > 0;
  UniformAnswer answer;
  if (spot_assumed)
    answer.take = SpotTake::kSpot;
  else
    answer.take = ahead_s(now, elapsed_s) < 0 ? SpotTake::kOnDemand : SpotTake::kIdle;
  if (held == SpotTake::kOnDemand && !(spot_assumed && well_ahead)) answer.take = SpotTake::kOnDemand;
  if (held == SpotTake::kSpot || task_.ticks_with_changeovers(now.work_left_s, 2) <= task_.deadline_ticks - now.tick)
    return answer;
  answer.take = SpotTake::kOnDemand;
  if (held == SpotTake::kOnDemand && spot_assumed && well_ahead) answer = {SpotTake::kSpot, true};
  return answer;
}

void UniformOneZone::begin_tick(const RegionsMoment& now) {
  const auto elapsed_s = static_cast<double>(now.tick * task_.tick_s);
  const int64_t rest = task_.deadline_ticks - now.tick;
  const bool spot = available_[static_cast<size_t>(now.tick)] != 0;
  if (task_.ticks_with_changeovers(now.work_left_s, 1) >= rest) {
    wish_ = now.held == SpotTake::kSpot && now.changeover_left_s == 0 ? SpotTake::kSpot : SpotTake::kOnDemand;
    return;
  }
  wish_ = rule_.ahead_s(now, elapsed_s) < 0 ? SpotTake::kOnDemand : SpotTake::kIdle;
  if (spot) wish_ = SpotTake::kSpot;
  const bool well_ahead = rule_.ahead_s(now, elapsed_s + static_cast<double>(2 * task_.changeover_s)) > 0;
  if (now.held == SpotTake::kOnDemand && !(spot && well_ahead)) wish_ = SpotTake::kOnDemand;
  if (now.held != SpotTake::kSpot && task_.ticks_with_changeovers(now.work_left_s, 2) >= rest) wish_ = SpotTake::kOnDemand;
}

RegionsAct UniformOneZone::next(const RegionsMoment& now) {
  if (wish_ == now.held) return {};
  switch (wish_) {
    case SpotTake::kIdle: return {RegionsAct::Kind::kStop, 0};
    case SpotTake::kSpot: return {RegionsAct::Kind::kSpot, 0};
    case SpotTake::kOnDemand: return {RegionsAct::Kind::kOnDemand, 0};
  }
  return {};
}

void UniformOneZone::heard(const RegionsAct& /*act*/, bool started) {
  if (!started) wish_ = SpotTake::kIdle;
}

std::vector<size_t> UniformManyZones::by_price() const {
  std::vector<size_t> zones(task_.zones.size());
  std::iota(zones.begin(), zones.end(), size_t{0});
  std::stable_sort(zones.begin(), zones.end(), [&](size_t a, size_t b) { return task_.zones[a].spot < task_.zones[b].spot; });
  return zones;
}

size_t UniformManyZones::on_demand_zone(const RegionsMoment& now, bool /*at_once*/) const {
  return stopped_ ? *stopped_ : now.checkpointed.value_or(0);
}

void UniformManyZones::begin_tick(const RegionsMoment& now) {
  tick_ = now.tick;
  stopped_.reset();
  phase_ = Phase::kDecide;
  probes_listed_ = false;
  observe(now);
}

RegionsAct UniformManyZones::next(const RegionsMoment& now) {
  switch (phase_) {
    case Phase::kDecide: return decide(now);
    case Phase::kTry: return try_next(now);
    case Phase::kProbe: return probe_next(now);
  }
  return {};
}

RegionsAct UniformManyZones::decide(const RegionsMoment& now) {
  const UniformAnswer answer = rule_.ask(now, now.held, true);
  phase_ = Phase::kProbe;
  if (answer.take == now.held && !(now.held == SpotTake::kSpot && moves(now))) return probe_next(now);
  if (now.held != SpotTake::kIdle) stopped_ = now.zone;
  if (answer.take == SpotTake::kOnDemand) return {RegionsAct::Kind::kOnDemand, on_demand_zone(now, true)};
  weak_ = answer.weak && heeds_weak();
  queue_ = order(now);
  std::reverse(queue_.begin(), queue_.end());
  phase_ = Phase::kTry;
  return try_next(now);
}

RegionsAct UniformManyZones::try_next(const RegionsMoment& now) {
  if (!queue_.empty()) {
    const size_t zone = queue_.back();
    queue_.pop_back();
    return {RegionsAct::Kind::kSpot, zone};
  }
  phase_ = Phase::kProbe;
  if (weak_ || rule_.ask(now, SpotTake::kIdle, false).take != SpotTake::kOnDemand) return probe_next(now);
  return {RegionsAct::Kind::kOnDemand, on_demand_zone(now, false)};
}

RegionsAct UniformManyZones::probe_next(const RegionsMoment& now) {
  if (!probes_listed_) {
    queue_ = probes(now);
    std::reverse(queue_.begin(), queue_.end());
    probes_listed_ = true;
  }
  if (queue_.empty()) return {};
  const size_t zone = queue_.back();
  queue_.pop_back();
  return {RegionsAct::Kind::kProbe, zone};
}

void UniformManyZones::heard(const RegionsAct& act, bool started) {
  if (act.kind != RegionsAct::Kind::kSpot && act.kind != RegionsAct::Kind::kProbe) return;
  tried(act, started);
  if (act.kind == RegionsAct::Kind::kSpot && started) phase_ = Phase::kProbe;
}

void UniformSpot::observe(const RegionsMoment& now) {
  if (now.held != SpotTake::kIdle) seen_running_ = task_.zones[now.zone].region;
}

std::vector<size_t> UniformSpot::order(const RegionsMoment& /*now*/) const {
  std::vector<size_t> zones = by_price();
  if (seen_running_)
    std::stable_partition(zones.begin(), zones.end(), [&](size_t z) { return task_.zones[z].region != *seen_running_; });
  return zones;
}

UniformSampling::UniformSampling(const RegionsTask& task, int64_t sign_of_life_ticks)
    : UniformManyZones(task), samples_(task.zones.size()), sign_of_life_ticks_(sign_of_life_ticks) {}

void UniformSampling::observe(const RegionsMoment& now) {
  if (now.lost) samples_[*now.lost].seen.push_back(0);
  if (now.held != SpotTake::kSpot || now.tick == launched_ || (now.tick - launched_) % sign_of_life_ticks_ != 0) return;
  samples_[now.zone].seen.push_back(1);
  samples_[now.zone].last_sign = now.tick;
}

void UniformSampling::tried(const RegionsAct& act, bool started) {
  Samples& samples = samples_[act.zone];
  samples.seen.push_back(started ? 1 : 0);
  if (act.kind == RegionsAct::Kind::kProbe) samples.last_probe = tick_;
  if (act.kind == RegionsAct::Kind::kProbe || started) samples.last_sign = tick_;
  if (act.kind == RegionsAct::Kind::kSpot && started) launched_ = tick_;
}

double UniformSampling::share(size_t zone, size_t window) const {
  std::span<const uint8_t> seen = samples_[zone].seen;
  if (seen.empty()) return 0.5;
  if (window > 0 && seen.size() > window) seen = seen.last(window);
  return static_cast<double>(std::count(seen.begin(), seen.end(), 1)) / static_cast<double>(seen.size());
}

std::vector<size_t> UniformSampling::order(const RegionsMoment& /*now*/) const {
  std::vector<size_t> zones(task_.zones.size());
  std::iota(zones.begin(), zones.end(), size_t{0});
  std::stable_sort(zones.begin(), zones.end(), [&](size_t a, size_t b) { return score(a) > score(b); });
  return zones;
}

bool UniformAvailability::moves(const RegionsMoment& now) const {
  for (size_t z = 0; z < samples_.size(); ++z)
    if (score(z) > score(now.zone) + 1e-6) return true;
  return false;
}

std::vector<size_t> UniformAvailability::probes(const RegionsMoment& now) const {
  if (now.held != SpotTake::kSpot) return {};
  const auto known = [&](size_t z) { return std::min(samples_[z].seen.size(), kWindow); };
  std::optional<size_t> fewest;
  for (size_t z = 0; z < samples_.size(); ++z) {
    if (z == now.zone || now.tick - samples_[z].last_probe < kProbeTicks) continue;
    if (!fewest || known(z) < known(*fewest)) fewest = z;
  }
  if (!fewest) return {};
  return {*fewest};
}

double UniformAvailabilityPrice::score(size_t zone) const {
  return share(zone, 0) / task_.zones[zone].spot.per_hour().to_double();
}

bool UniformAvailabilityPrice::moves(const RegionsMoment& now) const {
  double best = 0;
  for (size_t z = 0; z < samples_.size(); ++z)
    best = std::max(best, score(z));
  return score(now.zone) < 0.9 * best;
}

size_t UniformAvailabilityPrice::on_demand_zone(const RegionsMoment& /*now*/, bool at_once) const {
  return at_once && stopped_ ? *stopped_ : 0;
}

std::vector<size_t> UniformAvailabilityPrice::probes(const RegionsMoment& now) const {
  std::vector<size_t> zones;
  if (now.held == SpotTake::kOnDemand) return zones;
  for (size_t z = 0; z < samples_.size(); ++z) {
    if (now.held == SpotTake::kSpot && z == now.zone) continue;
    if (now.tick - samples_[z].last_sign >= sign_of_life_ticks_) zones.push_back(z);
  }
  return zones;
}

}  // namespace stint::sched
