#include "sim/regions_replay.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sim {
namespace {

using sched::RegionsAct;
using sched::RegionsMoment;
using sched::SpotTake;

constexpr double kDone = 0.001;  // seconds of work that count as none

class RegionsWorld {
 public:
  RegionsWorld(const sched::RegionsTask& task, const ZoneCapacity& available) : task_(task), available_(available), net_(task) {
    CHECK(available.size() == task.zones.size(), "capacity of {} zones for {}", available.size(), task.zones.size());
    for (const auto& ticks : available)
      CHECK(std::ssize(ticks) >= task.deadline_ticks, "{} ticks of capacity for {} before the deadline", ticks.size(),
            task.deadline_ticks);
    run_.billed.resize(task.zones.size());
    now_.work_left_s = task.work_s;
  }

  RegionsRun run(sched::RegionsPolicy& policy, SafetyNet net) {
    while (true) {
      if (now_.work_left_s <= kDone) break;
      if (now_.tick == task_.deadline_ticks) {
        run_.late = true;
        break;
      }
      run_.last_tick = {};
      if (net == SafetyNet::kYes && net_.takes_over(now_))
        carry_out(net_.act(now_));
      else
        ask(policy);
      pass_tick();
    }
    run_.ticks = now_.tick;
    return std::move(run_);
  }

 private:
  void ask(sched::RegionsPolicy& policy) {
    // A policy tries each zone a few times at most.
    const size_t most_acts = 16 * (task_.zones.size() + 4);
    policy.begin_tick(now_);
    for (size_t acts = 0;; ++acts) {
      CHECK(acts < most_acts, "a policy does not come to an end in tick {}", now_.tick);
      const RegionsAct act = policy.next(now_);
      if (act.kind == RegionsAct::Kind::kDone) return;
      policy.heard(act, carry_out(act));
    }
  }

  [[nodiscard]] bool has_capacity(size_t zone) const { return available_[zone][static_cast<size_t>(now_.tick)] != 0; }

  bool carry_out(const RegionsAct& act) {
    if (act.kind == RegionsAct::Kind::kDone) return true;
    if (act.kind == RegionsAct::Kind::kProbe) {
      if (!has_capacity(act.zone)) return false;
      run_.billed[act.zone].probes += task_.probe_s;
      run_.last_tick += scale(task_.zones[act.zone].spot.per_hour(), task_.probe_s, 3600);
      return true;
    }
    now_.held = SpotTake::kIdle;
    if (act.kind == RegionsAct::Kind::kStop) return true;
    if (act.kind == RegionsAct::Kind::kSpot && !has_capacity(act.zone)) return false;
    now_.held = act.kind == RegionsAct::Kind::kSpot ? SpotTake::kSpot : SpotTake::kOnDemand;
    now_.zone = act.zone;
    now_.changeover_left_s = static_cast<double>(task_.changeover_s);
    launched_ = true;
    return true;
  }

  void pass_tick() {
    if (now_.held != SpotTake::kIdle) work_through_tick();
    launched_ = false;
    ++now_.tick;
    now_.lost.reset();
    if (now_.held != SpotTake::kSpot || now_.tick == task_.deadline_ticks || has_capacity(now_.zone)) return;
    now_.lost = now_.zone;
    now_.held = SpotTake::kIdle;
  }

  void work_through_tick() {
    const bool spot = now_.held == SpotTake::kSpot;
    RegionsRun::Seconds& billed = run_.billed[now_.zone];
    (spot ? billed.spot : billed.on_demand) += task_.tick_s;
    const Rate rate = spot ? task_.zones[now_.zone].spot : task_.zones[now_.zone].on_demand;
    run_.last_tick += scale(rate.per_hour(), task_.tick_s, 3600);
    if (launched_) start_working();
    const auto tick_s = static_cast<double>(task_.tick_s);
    const double worked_s = std::max(0.0, tick_s - now_.changeover_left_s);
    now_.changeover_left_s = std::max(0.0, now_.changeover_left_s - tick_s);
    now_.work_left_s -= std::min(worked_s, now_.work_left_s);
    now_.checkpointed = now_.zone;
  }

  void start_working() {
    ++run_.launches;
    if (!now_.checkpointed) return;
    if (*now_.checkpointed != now_.zone) ++run_.migrations;
    const Money fetch = task_.fetch_cost(*now_.checkpointed, now_.zone);
    run_.transfers += fetch;
    run_.last_tick += fetch;
  }

  const sched::RegionsTask& task_;
  const ZoneCapacity& available_;
  sched::RegionsSafetyNet net_;
  RegionsMoment now_;
  bool launched_ = false;  // in this tick
  RegionsRun run_;
};

}  // namespace

Money cost_of(const RegionsRun& run, const sched::RegionsTask& task) {
  Money cost = run.transfers;
  for (size_t z = 0; z < task.zones.size(); ++z) {
    const RegionsRun::Seconds& billed = run.billed[z];
    cost += scale(task.zones[z].spot.per_hour(), billed.spot + billed.probes, 3600);
    cost += scale(task.zones[z].on_demand.per_hour(), billed.on_demand, 3600);
  }
  return cost;
}

RegionsRun replay_regions(const sched::RegionsTask& task, const ZoneCapacity& available, sched::RegionsPolicy& policy,
                          SafetyNet net) {
  return RegionsWorld(task, available).run(policy, net);
}

}  // namespace stint::sim
