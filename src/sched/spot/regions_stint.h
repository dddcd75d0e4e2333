// Our own policy for a task with a deadline on the spot capacity of many zones.
//
// It believes something of each zone (zone_belief.h), imagines futures, and takes the act that costs least on the mean of them
// (regions_futures.h). While a machine runs, a zone that would be worth the move if it had capacity is probed, and only a probe
// that finds a machine leads to a move; so a refusal, which is free, is most of what it asks for.
#pragma once

#include <memory>
#include <vector>

#include "base/prng.h"
#include "sched/spot/regions_futures.h"

namespace stint::sched {

class StintRegions final : public RegionsPolicy {
 public:
  /// @param task  passes check() and outlives the policy. @param seed  of the imagined futures.
  explicit StintRegions(const RegionsTask& task, uint64_t seed = 1);
  void begin_tick(const RegionsMoment& now) override;
  RegionsAct next(const RegionsMoment& now) override;
  void heard(const RegionsAct& act, bool started) override;

 private:
  enum class Phase : uint8_t { kTry, kSettle, kProbe, kDone };
  void plan_tries(const RegionsMoment& now);
  void plan_probes(const RegionsMoment& now);
  void queue_best_last(const RegionsMoment& now, const std::vector<size_t>& zones);
  [[nodiscard]] bool may_have_capacity(size_t zone) const;
  RegionsAct settle(const RegionsMoment& now);
  [[nodiscard]] RegionsFutures::FirstAct launch(SpotTake take, size_t zone) const;
  [[nodiscard]] RegionsFutures::FirstAct stay(const RegionsMoment& now) const;

  const RegionsTask& task_;
  std::shared_ptr<const ZoneProcess> process_;
  RegionsFutures futures_;
  Prng random_;
  std::vector<ZoneBelief> beliefs_;  ///< by zone
  int64_t tick_ = -1;
  Phase phase_ = Phase::kDone;
  std::vector<size_t> queue_;      ///< zones to try or probe, the next one last
  std::optional<size_t> move_to_;  ///< a probe found a machine there
};

}  // namespace stint::sched
