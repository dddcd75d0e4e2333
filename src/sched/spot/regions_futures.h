// Futures of the zones that might come, and what simple ways to go on would cost in each of them.
//
// A way is: use zones of the cheaper price groups whenever one has capacity; without, wait so many ticks, then take whatever
// runs at least cost; from there back to the cheaper groups when they return. A first act is judged by the way that costs
// least after it, on the mean of all futures. All acts are judged on the same futures, so that their differences are not noise.
// Method: rollouts (Bertsekas, Tsitsiklis, Wu 1997, "Rollout algorithms for combinatorial optimization").
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sched/spot/regions.h"
#include "sched/spot/zone_belief.h"

namespace stint::sched {

class RegionsFutures {
 public:
  static constexpr size_t kMostZones = 32;  ///< more are not imagined: the cheapest count
  /// What the first tick holds.
  struct FirstAct {
    SpotTake take = SpotTake::kIdle;
    size_t zone = 0;
    double changeover_left_s = 0;
    bool moves = false;  ///< a machine starts: its checkpoint is fetched
  };
  struct Judged {
    double cost = 0;             ///< mean from now to the end, by the best way
    std::vector<float> by_draw;  ///< the same by future
  };

  /// @param task  passes check() and outlives this.
  RegionsFutures(const RegionsTask& task, const ZoneProcess& process, size_t draws);

  /// Draws futures from `now` to the deadline. @param beliefs  by zone.
  void draw(const RegionsMoment& now, std::span<const ZoneBelief> beliefs, Prng& random);
  /// Leaves out of judge(), until the next draw, the ways that are not among the best after any of these acts.
  void shortlist_ways(const RegionsMoment& now, std::span<const FirstAct> acts);
  /// @param given_up  zones that are taken to have capacity now: what is judged against each other is given the same.
  [[nodiscard]] Judged judge(const RegionsMoment& now, const FirstAct& first, std::span<const size_t> given_up) const;
  /// Is its spot price near the lowest of all?
  [[nodiscard]] bool is_cheap(size_t zone) const { return rank_[zone] < 32 && (ways_.front().cheap >> rank_[zone] & 1) != 0; }
  /// Is the zone among those that are imagined?
  [[nodiscard]] bool imagines(size_t zone) const { return rank_[zone] < ranked_.size(); }

 private:
  /// How long to wait for the cheaper groups before anything is taken.
  struct Waiting {
    int32_t patience = 0;  ///< ticks of a gap
    int32_t reserve = 0;   ///< ticks that can still be lost, with a changeover to come: with fewer, no waiting
  };
  static const std::array<Waiting, 6> kWaitings;
  struct Way {
    uint32_t cheap = 0;  ///< zones, by bit
    Waiting waiting;
  };
  struct Walk;
  /// Sets `costs` to the cost of each future. @return their mean.
  double walk_all(const RegionsMoment& now, const FirstAct& first, uint32_t given, const Way& way, std::span<float> costs) const;
  [[nodiscard]] float walk(const RegionsMoment& now, const FirstAct& first, uint32_t given, size_t draw, const Way& way) const;
  [[nodiscard]] uint32_t there(size_t draw, size_t tick, uint32_t given) const {
    const size_t at = draw * ticks_ + tick;
    return (free_[at] & ~given) | (given_[at] & given);
  }

  const RegionsTask& task_;
  const ZoneProcess& process_;
  size_t draws_;
  std::vector<size_t> ranked_;  ///< zones by spot price; bit r stands for ranked_[r]
  std::vector<size_t> rank_;    ///< by zone
  std::vector<Way> ways_;
  std::vector<size_t> shortlist_;                  ///< of ways
  std::vector<float> spot_cost_, on_demand_cost_;  ///< of a tick; by rank, by zone
  size_t cheapest_on_demand_ = 0;                  ///< zone
  size_t ticks_ = 0;                               ///< to the deadline
  std::vector<uint32_t> free_;                     ///< by future and tick: zones with capacity
  std::vector<uint32_t> given_;                    ///< the same where a zone is taken to have capacity now
};

}  // namespace stint::sched
