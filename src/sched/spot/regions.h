// A task with a deadline on the spot capacity of many zones: where to run next, on which market, or wait?
//
// Time goes in ticks, as in spot_policy.h, but a policy is not told which zones have capacity: it asks for a machine, and the
// answer is a machine or none. A refused request costs nothing. A probe is a machine that is ended at once. Work that a machine
// has done stays; a machine in another region first fetches the checkpoint, which costs a transfer.
// A policy is a machine of its own: in each tick it says one act after the other and hears how each ended. So the same object
// decides in a replay and live.
// Source: the protocol of SkyNomad (NSDI 2027), as its artifact replays it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "sched/spot/spot_policy.h"

namespace stint::sched {

struct RegionZone {
  Rate spot;
  Rate on_demand;
  uint32_t region = 0;  ///< zones of one region have the same number
};

struct RegionsTask {
  int64_t tick_s = 0;
  int64_t deadline_ticks = 0;
  double work_s = 0;  ///< need not be whole seconds
  int64_t changeover_s = 0;
  int64_t probe_s = 0;             ///< billed for a probe that found a machine
  std::vector<RegionZone> zones;   ///< in the order that decides between equals
  std::vector<Money> fetch_costs;  ///< of the checkpoint: from zone × to zone, row by row; 0 within a region

  [[nodiscard]] double deadline_s() const { return static_cast<double>(tick_s * deadline_ticks); }
  [[nodiscard]] Money fetch_cost(size_t from, size_t to) const { return fetch_costs[from * zones.size() + to]; }
  /// Ticks that so much work takes with a changeover before it.
  [[nodiscard]] int64_t ticks_with_changeovers(double work_left_s, int changeovers) const;

  /// Error unless there is a zone, all numbers are positive and bounded (a changeover, a probe and a transfer may be 0), and
  /// on-demand from the beginning meets the deadline.
  [[nodiscard]] Status check() const;
};

/// What is known at the beginning of a tick, and after each act in it.
struct RegionsMoment {
  int64_t tick = 0;
  double work_left_s = 0;        ///< > 0
  double changeover_left_s = 0;  ///< of what runs
  SpotTake held = SpotTake::kIdle;
  size_t zone = 0;                     ///< of what runs
  std::optional<size_t> lost;          ///< zone whose spot machine was found gone as the tick began
  std::optional<size_t> checkpointed;  ///< zone in which a machine last worked through a tick: the checkpoint is there
};

struct RegionsAct {
  /// kSpot and kOnDemand end what runs, then ask for a machine in `zone`. On-demand is always there.
  enum class Kind : uint8_t { kDone, kStop, kSpot, kOnDemand, kProbe };
  Kind kind = Kind::kDone;
  size_t zone = 0;

  friend bool operator==(const RegionsAct&, const RegionsAct&) = default;
};

class RegionsPolicy {
 public:
  virtual ~RegionsPolicy() = default;
  /// A tick begins. Called once per tick that the safety net leaves to the policy.
  virtual void begin_tick(const RegionsMoment& now) = 0;
  /// @param now  as the acts of this tick left it.
  /// @return kDone: nothing more in this tick.
  virtual RegionsAct next(const RegionsMoment& now) = 0;
  /// How the last act ended. @param started  false: there was no spot machine. Always true for what cannot fail.
  virtual void heard(const RegionsAct& act, bool started) = 0;
};

/// Takes over in the last tick in which on-demand still meets the deadline: from then on it runs to the end.
class RegionsSafetyNet {
 public:
  /// @param task  passes check() and outlives the net.
  explicit RegionsSafetyNet(const RegionsTask& task) : task_(task) {}
  [[nodiscard]] bool takes_over(const RegionsMoment& now) const;
  /// kDone when on-demand runs already; else on-demand where a spot machine runs, or where the rest costs least.
  [[nodiscard]] RegionsAct act(const RegionsMoment& now) const;

 private:
  const RegionsTask& task_;
};

/// Where the rest of the work costs least on on-demand, with the transfer there. The earlier zone among equals.
size_t cheapest_on_demand(const RegionsTask& task, const RegionsMoment& now);

}  // namespace stint::sched
