// What a step has decided so far. A decision stands only when the step is over: until then the last one can be dropped because its tasks
// found no place, a start can be taken back for one that goes before it, and orders to those who are gone meanwhile fall.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "sched/decision.h"

namespace stint::sched {

class StepDraft {
 public:
  /// A new step: nothing is decided.
  void begin();

  /// @return it, to be completed; its places come with add_place().
  Decision& decide(DecisionKind kind, Reason reason, JobId job);
  /// Of the last decision.
  void add_place(const Place& place);
  /// The last decision, with its places.
  void drop_last();

  [[nodiscard]] size_t size() const { return decisions_.size(); }
  [[nodiscard]] const std::vector<Decision>& decisions() const { return decisions_; }
  /// nullptr: nothing starts the job in this step.
  [[nodiscard]] const Decision* start_of(JobId job) const;
  /// Its start falls, and is counted. There is one.
  void take_back_start(JobId job);
  /// How often that has happened to it in this step.
  [[nodiscard]] size_t times_taken_back(JobId job) const;
  [[nodiscard]] bool any_taken_back() const { return !taken_back_.empty(); }
  /// Orders to leave fall for tasks that have left already, and those that name no other with them.
  void withdraw_orders(const std::function<bool(TaskId)>& still_there);

  /// The step is over. @return its decisions with their places; they hold until the next begin().
  [[nodiscard]] std::span<const Decision> close();

 private:
  [[nodiscard]] size_t first_place(size_t decision) const { return decision == 0 ? 0 : places_end_[decision - 1]; }

  std::vector<Decision> decisions_;
  std::vector<Place> places_;       // of the decisions in their order; their spans are set by close()
  std::vector<size_t> places_end_;  // by decision
  std::vector<JobId> taken_back_;
};

}  // namespace stint::sched
