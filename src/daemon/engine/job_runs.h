// Jobs as they start, run, lose tasks and end: what reports and decisions change of them, and what the scheduler hears of that.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/engine/event_trail.h"
#include "daemon/engine/governance.h"
#include "daemon/engine/order_desk.h"
#include "daemon/engine/run_costs.h"

namespace stint {

/// In words for a person.
std::string_view words_of(sched::Reason reason);

class JobRuns {
 public:
  struct View {
    const std::vector<NodeBook>& nodes;
    const Instant& now;
    std::vector<JobBook>& jobs;
    std::vector<QueueBook>& queues;
    int64_t& ended_in_memory;
    std::vector<sched::Event>& owed;
    // Of the step being applied.
    std::vector<sched::Event>& events;
    std::vector<sched::JobId>& touched;
    SpendAccounts& accounts;
    RunCosts& costs;
    Governance& governance;
    EventTrail& trail;
    // Towards the backend.
    const bool& live;
    OrderDesk& desk;
    std::vector<std::string>& dismissed;
  };
  explicit JobRuns(const View& view) : s_(view) {}

  // Records.
  /// @param done  it had done its work before it heard that it should leave.
  void apply_report(const Report& report, bool done);
  void apply_trial(sched::JobId id, const Record& record);
  void apply_cancel(sched::JobId id);
  void apply_hold(sched::JobId id, bool on);
  /// With their node.
  void lose_tasks_on(NodeId node, std::string_view detail);
  /// After all records of a step: has a running job ended, or one of its tasks failed?
  void settle(sched::JobId id);

  void decided(const sched::Decision& decision);
  void end(sched::JobId id, JobState state);
  void set_state(sched::JobId id, JobState state);

 private:
  void left_by_itself(sched::JobId id, size_t at);
  void leave(sched::JobId id, size_t at);
  void leave_with_the_others(sched::JobId id);
  [[nodiscard]] static bool may_be_done(const JobBook& job);
  void lose(sched::JobId id, size_t at, std::string_view detail);
  void after_loss(sched::JobId id);
  void place(sched::JobId id, const sched::Decision& decision);
  void evicted(const sched::Decision& decision);
  [[nodiscard]] static int32_t staying(const JobBook& job);
  void left(sched::JobId id, std::vector<sched::Event>& next);
  void back_to_waiting(sched::JobId id);
  void stay_failed(sched::JobId id, const std::string& budget);

  View s_;
};

}  // namespace stint
