// Preemption as a class: it ranks those that run and searches for some to stop. Made where it is needed.
#pragma once

#include <utility>
#include <vector>

#include "sched/scheduler_impl.h"
#include "sched/scheduler_stop_rules.h"

namespace stint::sched {

class Preemption {
 public:
  explicit Preemption(Scheduler::Impl& scheduler) : s_(scheduler), book_(scheduler.stopping), rules_(scheduler) {}

  /// Stops others for one that waits. @return whether others leave for one.
  bool stop_for_one(Ground ground);
  /// When stop_for_one() may find what it did not find, though nothing happens; kNever = then it will not.
  [[nodiscard]] Instant next_search() const;
  /// It waits from now on. What was in vain for its shape's head need not be for it, when that is of another queue.
  void note_newcomer(JobId j);
  void end_step();

  /// Puts a job that runs in its place among the running, and sets the clock for its next level. / It runs no longer.
  void rank_running(JobId j);
  void stopped(JobId j);
  /// Less would be lost if it were stopped: its place among the running changes.
  void saved_work(JobId j);
  void fire_level_timers();

  /// Does the victim run where a task of `j` could? One that minds its neighbours may have to do with anybody.
  [[nodiscard]] bool could_make_room(JobId victim, JobId j) const;

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
  [[nodiscard]] bool leads_its_queue(JobId j) const;
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

  Scheduler::Impl& s_;
  StopBook& book_;
  StopRules rules_;
};

}  // namespace stint::sched
