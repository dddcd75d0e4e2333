#include "sim/regions_optimum.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace stint::sim {
namespace {

using sched::RegionsAct;
using sched::RegionsMoment;
using sched::SpotTake;

constexpr size_t kMostStates = 50'000'000;
constexpr double kUnreachable = std::numeric_limits<double>::infinity();

/// Places a task can be in: with a machine in a zone on spot or on-demand, or without one and its checkpoint in a zone. The last
/// place is the beginning: no machine, no checkpoint.
class Places {
 public:
  explicit Places(size_t zones) : zones_(zones) {}
  [[nodiscard]] size_t count() const { return 3 * zones_ + 1; }
  [[nodiscard]] size_t beginning() const { return 3 * zones_; }
  [[nodiscard]] size_t spot(size_t zone) const { return zone; }
  [[nodiscard]] size_t on_demand(size_t zone) const { return zones_ + zone; }
  [[nodiscard]] size_t idle(size_t zone) const { return 2 * zones_ + zone; }
  [[nodiscard]] bool is_idle(size_t place) const { return place >= 2 * zones_; }
  [[nodiscard]] bool is_spot(size_t place) const { return place < zones_; }
  [[nodiscard]] size_t zone(size_t place) const { return place % zones_; }
  [[nodiscard]] size_t without_machine(size_t place) const { return place == beginning() ? place : idle(zone(place)); }

 private:
  size_t zones_;
};

/// Does in each tick what the plan says.
class PlannedRun final : public sched::RegionsPolicy {
 public:
  PlannedRun(const Places& places, std::vector<size_t> plan, std::vector<uint8_t> launches)
      : places_(places), plan_(std::move(plan)), launches_(std::move(launches)) {}
  void begin_tick(const RegionsMoment& /*now*/) override { acted_ = false; }
  RegionsAct next(const RegionsMoment& now) override {
    if (acted_) return {};
    acted_ = true;
    const auto tick = static_cast<size_t>(now.tick);
    const size_t place = tick < plan_.size() ? plan_[tick] : places_.beginning();
    if (places_.is_idle(place)) return now.held == SpotTake::kIdle ? RegionsAct{} : RegionsAct{RegionsAct::Kind::kStop, 0};
    if (launches_[tick] == 0) return {};
    return {places_.is_spot(place) ? RegionsAct::Kind::kSpot : RegionsAct::Kind::kOnDemand, places_.zone(place)};
  }
  void heard(const RegionsAct& /*act*/, bool started) override { CHECK(started, "a plan launches where there is no capacity"); }

 private:
  Places places_;
  std::vector<size_t> plan_;       ///< place by tick
  std::vector<uint8_t> launches_;  ///< 1 = begins there in this tick
  bool acted_ = false;
};

class Planner {
 public:
  Planner(const sched::RegionsTask& task, const ZoneCapacity& available)
      : task_(task),
        available_(available),
        places_(task.zones.size()),
        ticks_(static_cast<size_t>(task.deadline_ticks)),
        work_(static_cast<size_t>(task.ticks_with_changeovers(task.work_s, 0))),
        startup_(std::max<size_t>(1, static_cast<size_t>(task.ticks_with_changeovers(0, 1)))) {}

  [[nodiscard]] size_t states() const { return (ticks_ + 1) * (work_ + 1) * places_.count(); }

  /// Least cost to the end, backwards in time.
  PlannedRun plan() {
    cost_.assign(states(), kUnreachable);
    choice_.assign(states(), kNone);
    for (size_t t = 0; t <= ticks_; ++t)
      for (size_t p = 0; p < places_.count(); ++p)
        cost_[index(t, work_, p)] = 0;
    for (size_t t = ticks_; t-- > 0;)
      for (size_t w = 0; w < work_; ++w)
        settle(t, w);
    return read_plan();
  }

 private:
  static constexpr uint16_t kNone = std::numeric_limits<uint16_t>::max();

  [[nodiscard]] size_t index(size_t tick, size_t work, size_t place) const {
    return (tick * (work_ + 1) + work) * places_.count() + place;
  }

  [[nodiscard]] double tick_cost(size_t place) const {
    const sched::RegionZone& zone = task_.zones[places_.zone(place)];
    return (places_.is_spot(place) ? zone.spot : zone.on_demand).per_hour().to_double() * static_cast<double>(task_.tick_s) /
           3600;
  }

  [[nodiscard]] bool there(size_t place, size_t first, size_t ticks) const {
    if (!places_.is_spot(place)) return true;
    for (size_t t = first; t < first + ticks; ++t)
      if (available_[places_.zone(place)][t] == 0) return false;
    return true;
  }

  /// A launch in `place` at `tick`, without the transfer.
  [[nodiscard]] double launch_cost(size_t tick, size_t work, size_t place) const {
    if (tick + startup_ > ticks_ || !there(place, tick, startup_)) return kUnreachable;
    return tick_cost(place) * static_cast<double>(startup_) + cost_[index(tick + startup_, work, place)];
  }

  void settle(size_t tick, size_t work) {
    launched_.assign(places_.count(), kUnreachable);
    for (size_t p = 0; p < places_.idle(0); ++p)
      launched_[p] = launch_cost(tick, work, p);
    for (size_t from = 0; from < places_.count(); ++from) {
      double& least = cost_[index(tick, work, from)];
      uint16_t& choice = choice_[index(tick, work, from)];
      const auto consider = [&](double cost, size_t place) {
        if (cost >= least) return;
        least = cost;
        choice = static_cast<uint16_t>(place);
      };
      if (!places_.is_idle(from) && there(from, tick, 1))
        consider(tick_cost(from) + cost_[index(tick + 1, work + 1, from)], from);
      const size_t without = places_.without_machine(from);
      consider(cost_[index(tick + 1, work, without)], without);
      for (size_t to = 0; to < places_.idle(0); ++to)
        if (to != from)
          consider(launched_[to] +
                       (from == places_.beginning() ? 0 : task_.fetch_cost(places_.zone(from), places_.zone(to)).to_double()),
                   to);
    }
  }

  [[nodiscard]] PlannedRun read_plan() const {
    CHECK(cost_[index(0, 0, places_.beginning())] < kUnreachable, "no plan meets the deadline, though on-demand does");
    std::vector<size_t> plan(ticks_, places_.beginning());
    std::vector<uint8_t> launches(ticks_, 0);
    size_t place = places_.beginning();
    size_t work = 0;
    for (size_t t = 0; t < ticks_ && work < work_;) {
      const size_t next = choice_[index(t, work, place)];
      const bool launch = !places_.is_idle(next) && next != place;
      if (launch) launches[t] = 1;
      const size_t taken = launch ? startup_ : 1;
      for (size_t k = 0; k < taken; ++k)
        plan[t + k] = next;
      if (!launch && !places_.is_idle(next)) ++work;
      place = next;
      t += taken;
    }
    // Ticks of work are rounded up: what runs at the end goes on until the last second is done.
    return {places_, std::move(plan), std::move(launches)};
  }

  const sched::RegionsTask& task_;
  const ZoneCapacity& available_;
  Places places_;
  size_t ticks_;
  size_t work_;
  size_t startup_;  ///< ticks without progress that a launch is taken to cost
  std::vector<double> cost_;
  std::vector<uint16_t> choice_;
  std::vector<double> launched_;
};

}  // namespace

Result<RegionsRun> replay_regions_optimum(const sched::RegionsTask& task, const ZoneCapacity& available) {
  Planner planner(task, available);
  if (planner.states() > kMostStates)
    return invalid("the optimum needs {} states, more than {}: use fewer zones or longer ticks", planner.states(), kMostStates);
  PlannedRun plan = planner.plan();
  return replay_regions(task, available, plan, SafetyNet::kNo);
}

}  // namespace stint::sim
