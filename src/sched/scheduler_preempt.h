// Preemption as a class: it searches for some of those that run to stop.
#pragma once

#include <utility>
#include <vector>

#include "sched/scheduler_consolidate.h"

namespace stint::sched {

class Preemption {
 public:
  struct View {
    const Policy& policy;
    const StepClock& clock;
    const JobTable& jobs;
    Cluster& cluster;
    OpenNodes& open;
    Pending& pending;
    const Accounts& accounts;
    const Contenders& contenders;
    StartTimes& times;
    Heads& heads;
    Lifecycle& life;
    const Backfilling& backfill;
    Consolidation& consolidation;
    RoomMaker& room;
    const StepDraft& draft;
    VictimSketch& sketch;
    RoomOnPaper::Scratch& paper;
  };
  Preemption(const View& view, const StopRules& rules, StopBook& book) : s_(view), rules_(rules), book_(book) {}

  /// Stops others for one that waits. @return whether others leave for one.
  bool stop_for_one(Ground ground);
  /// When stop_for_one() may find what it did not find, though nothing happens; kNever = then it will not.
  [[nodiscard]] Instant next_search() const;
  /// Those that were tried are newcomers no longer.
  void end_step();

 private:
  /// Searches, one after the other, until one finds somebody to stop.
  struct SearchRound {
    Ground ground = Ground::kAny;
    bool found = false;
    SearchFor what = SearchFor::kStop;
    bool cut_short = false;  ///< more were worth a search than a step makes
    size_t set_aside = 0;
    size_t limited_tried = 0;
    std::vector<std::pair<ShapeId, Attempted>> in_vain;
  };
  [[nodiscard]] bool limit_may_give(JobId j) const;
  void open_limited();
  bool stop_others(Ground ground);
  void put_off_the_rest(Ground ground);
  void note_in_vain(const SearchRound& round);
  Tried stop_others_in_round(JobId j, SearchRound& round);
  Tried on_to_the_next_queue(JobId j, SearchRound& round);
  [[nodiscard]] bool was_tried(JobId j) const;
  void try_newcomers(SearchRound& round);
  [[nodiscard]] int64_t gpu_milli_waiting() const;
  [[nodiscard]] Instant search_again_at(const Attempted& last) const;
  bool is_worth_a_search(ShapeId s);
  bool could_take_back_start(JobId j);
  bool stop_others_for(JobId j, Ground ground);
  template <typename MayStop, typename Enough>
  bool choose_victims(JobId j, size_t most, MayStop&& may_stop, Enough&& enough);
  bool find_victims(JobId j, RoomOnPaper& room);
  void add_victim(const Victim& victim);
  void stop_victims_for(JobId j);
  void hold_room(JobId j, RoomOnPaper& room);

  View s_;
  const StopRules& rules_;
  StopBook& book_;
};

}  // namespace stint::sched
