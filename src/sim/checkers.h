// Checkers: watch a scheduler's events and decisions and say when it breaks a promise.
//
// They keep their own books, from the stream alone, and share no code with the scheduler, so that a defect there cannot hide
// itself here. The first violation ends the replay; what the books say after it means nothing.
//
// Rules, by name:
//   room        places exist, on usable nodes that match, and nothing is given out twice (GPU, share, MIG, CPU, memory)
//   affinity    wanted neighbours are there when a task starts, refused ones are not; refusing is mutual
//   topology    a gang that must be in one domain is
//   gang        a job starts with min_tasks … tasks of its own tasks, each group with its minimum; it is never left with
//               fewer than its minimum by decision, unless all leave
//   state       only waiting jobs start or are rejected, only running ones grow or are told to leave
//   dependency  a job starts after all it waits for succeeded; it is rejected for it only when one of them did not
//   not-before  nothing starts too early
//   eviction    jobs that cannot be preempted are not told to leave for others; nor is anything before its minimum run time
//   promise     what was freed for a job starts that job, at once when the last has left; no other is stopped for nothing
//   thrash      a job is not stopped for others more than kMaxEvictionsPerHour times within an hour
//   taken-back  a job is not stopped within kTakenBackWithin of its start for one that waited at that start already, unless
//               something happened in between: it should not have been started
//   limit       a queue and all above it stay within their limits
//   budget      nothing starts in a queue that has spent its budget, or below one, but what room was being freed for before
//   hours       nothing starts or grows in a queue that is closed, or below one, but what room was being freed for before
//   trial       only trials are stopped as hopeless, and none that is among the best of those that have reported at its rung
//   guarantee   jobs that cannot be preempted stay within what their queues deserve
//   spin        time goes on: at one instant there are at most kMaxStepsAtOnce steps
//   lost        a job that could run on the idle fleet does not wait when everything else has ended
//   starved     a job that fits the fleet does not wait for longer than the bound, see CheckOptions
//   work        GPU time held = useful + lost + overhead, each succeeded job has done exactly its work
//   money       cost of the nodes × time = what the jobs pay + idle, to the nano-unit
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/check_budgets.h"
#include "sim/check_rooms.h"
#include "sim/check_time.h"
#include "sim/replay.h"
#include "sim/replay_result.h"
#include "sim/workload.h"

namespace stint::sim {

struct Violation {
  Instant at;
  std::string_view rule;  ///< a name from the list above
  std::string what;
};

struct CheckOptions {
  /// Within how long the room freed for a job must be used by it, from when the last victim has left.
  Duration promise = Duration::minutes(1);
  /// A waiting job that would fit the usable fleet alone, within its queue's limits and with its dependencies done, starts
  /// within this time, counted from when it last began to wait or from when such a state began. kUnlimited: not checked.
  Duration starved_after = sched::kUnlimited;
  /// The policy lets no job pass the first in line: one that cannot run on the nodes that are left holds up all others.
  bool strict_order = false;
  /// The rule `thrash` holds. Under shortest remaining time first it does not: every shorter newcomer stops a longer job.
  bool count_evictions = true;
};

inline constexpr int kMaxEvictionsPerHour = 10;
inline constexpr int kMaxStepsAtOnce = 200;
inline constexpr Duration kTakenBackWithin = Duration::minutes(1);

class Checker final : public Watcher {
 public:
  /// @param workload  outlives the checker.
  Checker(const Workload& workload, const CheckOptions& options);

  bool saw(Instant now, std::span<const sched::Event> events, std::span<const sched::Decision> decisions) override;
  /// When the replay has ended by itself: nothing lost, work and money add up.
  void ended(const ReplayResult& result);
  [[nodiscard]] const std::optional<Violation>& violation() const { return violation_; }

 private:
  enum class State : uint8_t { kUnknown, kWaiting, kRunning, kLeaving, kSucceeded, kEnded };
  struct TaskBook {
    sched::Place place;
    Instant began;
    bool leaving = false;
  };
  struct JobBook {
    State state = State::kUnknown;
    uint32_t first_task = 0;
    bool ends_after_leaving = false;
    bool cancelled = false;
    bool admitted = false;  // room has been freed for it
    int32_t failures = 0;
    int64_t started_in = 0;      // step
    int64_t waits_since_in = 0;  // step
    Instant started, waits_since;
    std::vector<TaskBook> tasks;
    double gpu_hours = 0;
    std::vector<Instant> evictions;  // of the last hour
  };
  struct QueueBook {
    sched::QueueAmounts none;
    int64_t gpu_milli = 0, cpu_milli = 0, memory_bytes = 0;
    int64_t firm_gpu_milli = 0, firm_cpu_milli = 0, firm_memory_bytes = 0;
    bool grown = false;  // in this step
  };
  /// Room that is being freed for a job.
  struct Promise {
    sched::JobId to;
    std::vector<std::pair<sched::JobId, sched::TaskId>> leaving;
    Instant ready;  // when the last has left
  };

  void event(const sched::Event& event);
  void decision(const sched::Decision& decision);
  void start(const sched::Decision& decision);
  void grow(const sched::Decision& decision);
  void evict(const sched::Decision& decision);
  [[nodiscard]] bool should_not_have_started(const JobBook& job, sched::JobId by) const;
  void reject(const sched::Decision& decision);
  void skip(const sched::Decision& decision);
  void check_array(sched::JobId job);
  void add_tasks(sched::JobId job, std::span<const sched::Place> places);
  void remove_task(sched::JobId job, size_t at);
  void remove_all(sched::JobId job);
  void emptied(sched::JobId job);
  void node_lost(NodeId node);
  void charge(sched::JobId job, const sched::Place& place, int64_t sign);
  void check_groups(sched::JobId job);
  void check_limits();
  void check_promises();
  void check_starved();
  void check_lost(const ReplayResult& result);
  void check_work(const ReplayResult& result);
  void check_money(const ReplayResult& result);
  [[nodiscard]] Money cost_of_node(size_t node, Interval period) const;
  [[nodiscard]] const sched::Request& request_of(sched::JobId job, sched::TaskId task) const;
  [[nodiscard]] bool could_run_alone(sched::JobId job) const;
  [[nodiscard]] bool waits_for_its_hour(sched::JobId job) const;
  [[nodiscard]] bool is_made(sched::JobId job) const;
  [[nodiscard]] bool waits_for_its_like(sched::JobId job) const;
  [[nodiscard]] int32_t staying(const JobBook& job) const;
  [[nodiscard]] int32_t min_tasks(sched::JobId job) const;
  void left(sched::JobId job, sched::TaskId task);

  template <typename... Args>
  void fail(std::string_view rule, fmt::format_string<Args...> format, Args&&... args) {
    if (!violation_) violation_ = Violation{now_, rule, fmt::format(format, std::forward<Args>(args)...)};
  }

  const Workload* workload_;
  CheckOptions options_;
  CheckedRooms rooms_;
  CheckedBudgets budgets_;
  CheckedTimes times_;
  std::vector<JobBook> jobs_;
  std::vector<QueueBook> queues_;
  std::vector<Promise> promises_;
  std::vector<sched::JobId> waiting_;
  Instant now_;
  int steps_at_once_ = 0;
  int64_t step_ = 0;
  int64_t last_change_ = 0;  // step in which something last happened that a decision may follow from
  Instant next_starved_check_;
  std::optional<Violation> violation_;
};

}  // namespace stint::sim
