// The world around a scheduler: carries out its decisions, lets time pass, and tells it what happened.
//
// It plays what is outside: jobs that work, save, fail and end; tasks that take a moment to leave; nodes that are lost,
// announced to be lost, and come back; owners who take jobs back; and the meter that runs. It decides nothing.
//
// A stop. Told to leave, a job that saves checkpoints saves one and leaves when that is done, if that is possible within the
// grace; any other works on until it leaves and loses what it did since its last checkpoint. An elastic job that loses some
// of its tasks by decision goes on at the size that is left. A job that loses tasks with a node goes back to its last
// checkpoint and, when fewer than its minimum are left, stands still until the scheduler completes or stops it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sched/decision.h"
#include "sim/cost_meter.h"
#include "sim/event_queue.h"
#include "sim/job_progress.h"
#include "sim/replay_result.h"
#include "sim/tally.h"
#include "sim/workload.h"

namespace stint::sim {

struct ReplayOptions {
  Instant until = sched::kNever;  ///< ends there whatever is left; kNever: `patience` after the last submission
  Duration patience = Duration::hours(365 * 24);
  Duration grace = Duration::minutes(2);  ///< for saving a checkpoint when told to leave
  bool save_when_leaving = true;
  Duration leaving;                  ///< a task takes this long to leave, besides saving
  bool announce_checkpoints = true;  ///< an event for each; without, the scheduler knows of none
  size_t timeline_points = 2'000;
  size_t occupancies = 20'000;
  /// Ascending. What has been paid is told for each of these instants, so the replay goes on at least to the last one; it begins with
  /// the first one, if nothing happens before.
  std::vector<Instant> marks;
};

class World {
 public:
  /// @param workload  passed check_workload(); outlives the world.
  World(const Workload& workload, const ReplayOptions& options);

  /// Lets time pass to the next instant at which something happens, at the latest to `wakeup`.
  /// @return false when the replay is over.
  bool advance(Instant wakeup);
  [[nodiscard]] Instant now() const { return now_; }
  /// What has happened, in the order of decision.h.
  [[nodiscard]] std::span<const sched::Event> events() const { return events_; }
  /// GPUs that jobs wait for which could start if there were room, as the scheduler sees it. Pools grow by it; never told, by
  /// all that wait.
  void tell_waiting(int64_t gpu_milli) { told_waiting_milli_ = gpu_milli; }
  void carry_out(std::span<const sched::Decision> decisions);
  /// Brings all accounts to now() and closes them. Once.
  [[nodiscard]] ReplayResult finish();

 private:
  enum class State : uint8_t { kNotSubmitted, kWaiting, kRunning, kIncomplete, kLeaving, kEnded };
  struct Held {
    sched::Place place;
    int64_t gpu_milli = 0;
    int64_t weight = 0;  // for the meter
    Instant began;
    Instant leaves = sched::kNever;  // set when it was told to leave
  };
  struct Job {
    explicit Job(const SimJob& job) : progress(job) {}
    State state = State::kNotSubmitted;
    bool saves = false;                         // leaving: saves a checkpoint meanwhile
    JobEnding leaves_as = JobEnding::kWaiting;  // leaving: what it is then
    bool cancelled = false;
    uint32_t generation = 0;  // of its entry in the queue
    int32_t min_tasks = 1;
    int64_t gpu_milli = 0;  // of all its tasks
    std::vector<Held> held;
    JobProgress progress;
  };
  enum class Power : uint8_t { kOn, kStarting, kOff };
  struct NodeState {
    int32_t away = 0;                // reasons why it is not there
    std::vector<sched::JobId> jobs;  // one entry per task on it
    int64_t held_milli = 0;
    Power power = Power::kOn;  // of a pool
  };
  struct Pool {
    sched::Scaler scaler;
    std::vector<NodeId> nodes;
    int32_t gpus_of_node = 0;
  };
  // Order of what happens at one instant: pools are looked at as the scheduler has left them, nodes come before they go, work ends
  // before it is taken back.
  enum class Kind : uint8_t { kLook, kNodeComes, kPhaseEnds, kTaskLeaves, kNodeNotice, kNodeGoes, kCancel, kPrice };
  struct Payload {
    uint32_t index = 0;       // job, outage (kNode…), or node
    uint32_t generation = 0;  // kPhaseEnds; kTaskLeaves: the task; kNode…: 1 = an outage, 0 = the node's own presence;
                              // kPrice: the point of the node's series
  };

  void schedule_nodes();
  void set_up_pools();
  void look_at_pools();
  int32_t switch_on(Pool& pool, int32_t count);
  void switch_off_idle(Pool& pool, int32_t count);
  void switch_off(NodeId n);
  void handle(Kind kind, const Payload& payload);
  void schedule_price(uint32_t node, size_t point);
  void submit_due();
  void node_comes(NodeId node, bool from_outage);
  void node_goes(NodeId node);
  void lose_tasks(sched::JobId id, NodeId node);
  void phase_ends(sched::JobId id);
  void task_leaves(sched::JobId id, sched::TaskId task);
  void cancel(sched::JobId id);

  void take_places(sched::JobId id, std::span<const sched::Place> places);
  void evict(const sched::Decision& decision);
  void release(sched::JobId id, size_t at);
  void release_all(sched::JobId id);
  void left(sched::JobId id);
  void end(sched::JobId id, JobEnding ending);
  void back_to_waiting(sched::JobId id);
  void set_state(sched::JobId id, State state);
  void replan(sched::JobId id);
  [[nodiscard]] int32_t staying(const Job& job) const;
  [[nodiscard]] int64_t gpu_milli_of_place(const sched::Place& place) const;

  void account_until(Instant t);
  void pass_mark();
  [[nodiscard]] TimelinePoint point() const;
  void close(ReplayResult& result);
  void mix(uint64_t value) { fingerprint_ = (fingerprint_ ^ value) * 0x9e3779b97f4a7c15ULL + (fingerprint_ >> 29); }

  const Workload* workload_;
  ReplayOptions options_;
  Instant begin_, until_, now_;
  bool began_ = false;
  int32_t idle_steps_ = 0;
  size_t next_submission_ = 0;
  size_t next_mark_ = 0;
  int64_t ended_ = 0, waiting_ = 0, running_ = 0;
  EventQueue<Payload> queue_;
  std::vector<Job> jobs_;
  std::vector<NodeState> nodes_;
  std::vector<Pool> pools_;
  std::optional<int64_t> told_waiting_milli_;
  std::vector<sched::Event> events_;
  CostMeter meter_;
  FreeGauge gauge_;
  Timeline timeline_;
  double gpu_milli_hours_available_ = 0, gpu_milli_hours_held_ = 0, gpu_milli_hours_free_ = 0, gpu_milli_hours_unusable_ = 0;
  int64_t held_milli_ = 0;
  ReplayResult result_;
  uint64_t fingerprint_ = 0;
};

}  // namespace stint::sim
