// The cluster as the scheduler sees it: nodes, what is free, which tasks hold what, and what is promised to whom.
//
// Rooms. A task that was told to leave (releasing) still holds its room. A task may be nominated to room that leaving
// tasks still hold; when they have left, the room is its. `free()` is what no task holds now; `coming()` counts leaving
// tasks' room as free and nominated tasks' room as taken. A task can run (Room::kFree) where both have room for it, and be
// nominated (Room::kComing) where the second has.
//
//   state       holds of free()   holds of coming()   on the node's list
//   running     yes               yes                 yes
//   releasing   yes               no                  yes
//   nominated   no                yes                 yes
//   others      no                no                  no
//
// Trials. While a trial is open every change is written to an undo log, so that "would it fit if these were gone" is asked
// by doing it and taking it back. Trials nest and end in the reverse order of their opening; `Attempt` does that by scope.
// After undo the cluster equals what it was (tables, tasks, order on the nodes' lists; only the tables' change logs go on).
//
// Requests. `intern` makes equal requests one id; what can be known about a request and a node once and for all (model,
// labels, allowed nodes, capacity) is a bit in `eligible`. A request for several MIG instances needs a node with static
// instances: a process uses one instance only, so several on a GPU that is cut as needed are asked for as several tasks.
//
// Cost. run, nominate, leave and gone neither allocate nor search; MIG and affinity cost extra only to tasks that use them.
// A copy of a Cluster is a snapshot.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "model/machine.h"
#include "model/mig.h"
#include "sched/decision.h"
#include "sched/place/affinity.h"
#include "sched/place/interference.h"
#include "sched/place/mig_fit.h"
#include "sched/place/node_table.h"
#include "sched/place/topology.h"
#include "sched/policy.h"
#include "sched/request.h"
#include "sched/room.h"

namespace stint::sched {

enum class TaskState : uint8_t { kPending, kNominated, kRunning, kReleasing, kFailed, kDone };

/// Hot record of one task: a cache line.
struct alignas(64) Task {
  JobId job;
  RequestId request;
  TaskState state = TaskState::kPending;
  int32_t group = -1;    ///< leaf of the gang
  int32_t priority = 0;  ///< inside the job, higher first
  Place place;           ///< valid when nominated, running or releasing
  Instant started;       ///< when it last began to run
  TaskId before, after;  ///< neighbours on the node's list
  bool operator==(const Task&) const = default;

  [[nodiscard]] bool on_node() const {
    return state == TaskState::kRunning || state == TaskState::kReleasing || state == TaskState::kNominated;
  }
  [[nodiscard]] bool holds(Room room) const {
    return state == TaskState::kRunning || state == (room == Room::kFree ? TaskState::kReleasing : TaskState::kNominated);
  }
  /// Counts for the gang: runs, or is promised its room.
  [[nodiscard]] bool active() const { return state == TaskState::kRunning || state == TaskState::kNominated; }
};

/// Which GPU of a node a fraction goes to: of those that fit the one with least left, or with most. Ties: lowest number.
enum class SharedGpu : uint8_t { kPack, kSpread };

/// Why a request does not fit a node; the first that applies.
enum class Misfit : uint8_t {
  kFits,
  kUnusable,    ///< down or draining
  kConstraint,  ///< model, label, allowed nodes, or larger than the whole node
  kTasks,       ///< as many tasks as the node takes
  kCpu,
  kMemory,
  kGpus,  ///< too few GPUs free, or none with that share or MIG instance free
  kAffinity,
  kOthersShares,  ///< a GPU has enough left, but parts of it are another's (Request::shares_with)
  kSlowed,        ///< likewise, but it or who is there would be slowed by more than it allows (Request::max_slowdown_percent)
};

/// What a request counts in queues and totals.
struct Amounts {
  int64_t gpu_milli = 0;
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  bool operator==(const Amounts&) const = default;
};

class Cluster {
 public:
  /// @param mig  how amounts() counts MIG instances
  explicit Cluster(MigCount mig) : mig_count_(mig) {}
  Cluster() = default;

  // Set-up, also while running; not inside a trial.
  /// It gets the lowest id of those that were removed, else the next.
  NodeId add_node(const NodeSpec& node);
  /// One that no task is on. Its id stands for a node without anything, which is never usable, until another gets it.
  void remove_node(NodeId n);
  RequestId intern(const Request& request);
  TaskId add_task(JobId job, RequestId request, int32_t group = -1, int32_t priority = 0);
  void reserve_tasks(size_t count) { tasks_.reserve(count); }

  [[nodiscard]] size_t node_count() const { return nodes_.size(); }
  [[nodiscard]] const NodeSpec& node(NodeId n) const { return nodes_[n.index()]; }
  /// Thousandths of GPUs that a place is: of MIG instances by their part of the compute slices. MIG devices that stay as they are (a
  /// node's static_mig) are not told by the place.
  [[nodiscard]] int64_t gpu_milli(const Place& place) const;
  /// The same of what a task holds, those devices too.
  [[nodiscard]] int64_t gpu_milli(const Task& task) const;
  [[nodiscard]] std::optional<NodeId> find_node(std::string_view name) const;  ///< linear
  [[nodiscard]] size_t request_count() const { return requests_.size(); }
  [[nodiscard]] const Request& request(RequestId r) const { return requests_[r.index()]; }
  /// A fraction counts its share, a GPU-memory request its share of the cluster's smallest GPU, MIG instances as
  /// counted_milli() says.
  [[nodiscard]] Amounts amounts(RequestId r) const;
  /// What a MIG instance counts; of models that have the profile, and cut it differently, the largest part.
  [[nodiscard]] int64_t counted_milli(std::string_view profile) const;
  /// Bit n of word n/64: request `r` could run on node n if it were empty. One bit per node, words complete.
  [[nodiscard]] std::span<const uint64_t> eligible(RequestId r) const { return facts_[r.index()].eligible; }
  [[nodiscard]] bool is_eligible(RequestId r, NodeId n) const {
    return (facts_[r.index()].eligible[n.index() / 64] >> (n.index() % 64) & 1) != 0;
  }
  /// Neither MIG nor affinity: NodeTable and `eligible` say all about where it fits.
  [[nodiscard]] bool is_plain(RequestId r) const { return facts_[r.index()].plain; }
  /// Wants or refuses neighbours, or is of a kind that others want or refuse.
  [[nodiscard]] bool minds_neighbours(RequestId r) const { return !facts_[r.index()].affinity.empty(); }

  [[nodiscard]] std::span<const Task> tasks() const { return tasks_; }
  [[nodiscard]] const Task& task(TaskId t) const { return tasks_[t.index()]; }
  /// Calls visit(TaskId) for those running, releasing or nominated on the node, last placed first. `visit` changes nothing.
  template <typename Visit>
  void for_each_on(NodeId n, Visit&& visit) const {
    for (TaskId t = first_on_[n.index()]; t.valid(); t = tasks_[t.index()].after)
      visit(t);
  }

  /// Free now. A GPU that is cut into MIG instances shows nothing free: its instances are found by `fit`.
  [[nodiscard]] const NodeTable& free() const { return free_; }
  /// With leaving tasks gone and nominated tasks in.
  [[nodiscard]] const NodeTable& coming() const { return coming_; }

  /// Where exactly on `n` a task with request `r` would go (Place::task is not set); none = it does not fit.
  /// Whole GPUs: the lowest free ones.
  [[nodiscard]] std::optional<Place> fit(RequestId r, NodeId n, Room room, SharedGpu shared = SharedGpu::kPack) const;
  [[nodiscard]] Misfit why_not(RequestId r, NodeId n, Room room) const;
  /// A part of these GPUs may be given to `r`: all parts that are held there are of those it shares with, and none is slowed too much.
  [[nodiscard]] bool may_share(RequestId r, NodeId n, uint64_t gpus, Room room) const {
    const Facts& facts = facts_[r.index()];
    return ((others_shares(facts, n, room) | slowed_gpus(facts, n, room)) & gpus) == 0;
  }
  /// No more tasks with request `r` than this fit on `n` together; it may be fewer, and wanted neighbours are not looked at.
  [[nodiscard]] int64_t most_that_fit(RequestId r, NodeId n, Room room) const;
  /// A nominated task's own place is free now: run(t, task(t).place) is allowed. Of several tasks promised parts of one GPU or
  /// node each may have this and not all together: run them one by one in an Attempt.
  [[nodiscard]] bool can_run_nominated(TaskId t) const;

  // Changes. Each CHECKs the state it starts from and that room is there.
  void run(TaskId t, const Place& place, Instant now = {});  ///< pending or nominated → running
  void nominate(TaskId t, const Place& place);               ///< pending or nominated elsewhere → nominated
  void leave(TaskId t);                                      ///< running → releasing
  void gone(TaskId t, TaskState then);                       ///< any → kPending, kFailed or kDone; holds nothing
  void set_usable(NodeId n, bool usable);                    ///< false: takes no new task; what is there stays

  enum class Trial : size_t {};
  [[nodiscard]] Trial open_trial();
  void undo(Trial trial);  ///< back to how it was at open_trial()
  void keep(Trial trial);  ///< the changes stand; they are still undone with an enclosing trial

  /// The domains of the last of `levels` (widest first), interned; the reference stays valid.
  [[nodiscard]] const Domains& domains(std::span<const std::string> levels);

  /// Same nodes' free amounts, tasks and promises: a later decision would be the same.
  [[nodiscard]] bool same_state(const Cluster& other) const;

 private:
  friend struct SnapshotParts;
  friend struct ForgetParts;
  /// What is known about a request once and for all.
  struct Facts {
    int64_t cpu_milli = 0;
    int64_t memory_bytes = 0;
    int32_t gpus = 0;
    int32_t milli = 0;
    int64_t gpu_memory = 0;
    int64_t mig_milli = 0;  ///< what its instances count
    int32_t sharer = -1;    ///< into sharers_; −1 = asks for no part of a GPU
    InterferenceFacts interference;
    bool plain = true;
    std::vector<MigWant> mig;
    std::vector<int> instance_of;  ///< by geometry: index of the one instance wanted; −1 = none; empty = not one instance
    AffinityFacts affinity;
    std::vector<uint64_t> eligible;
  };
  struct Undo {
    TaskId task;  // not valid: `node` changed its usability
    NodeId node;
    bool usable = true;  // before
    Task old;
  };

  [[nodiscard]] bool could_ever_fit(const Facts& facts, const Request& request, NodeId n) const;
  void note_eligible(RequestId r, NodeId n);
  void find_instances(Facts& facts) const;
  void count_earlier_tasks(int32_t term, RequestId newest);
  int32_t intern_sharer(const std::string& name);
  int32_t intern_profile(const std::string& name);
  [[nodiscard]] NodeRecord record_of(const NodeSpec& node);
  [[nodiscard]] int32_t share_on(const Facts& facts, NodeId n) const;
  [[nodiscard]] uint64_t others_shares(const Facts& facts, NodeId n, Room room) const;
  [[nodiscard]] uint64_t slowed_gpus(const Facts& facts, NodeId n, Room room) const;
  [[nodiscard]] bool is_slowed(const Facts& facts, NodeId n, uint64_t gpu, Room room) const;
  [[nodiscard]] Misfit check(const Facts& facts, NodeId n, Room room, SharedGpu shared, Place& place) const;
  [[nodiscard]] int dynamic_profile(const Facts& facts, NodeId n) const;
  [[nodiscard]] std::array<uint64_t, 2> whole_for_mig(NodeId n) const;
  bool fit_mig(const Facts& facts, NodeId n, Room room, Place& place) const;
  void hold(const Task& task, Room room);
  void let_go(const Task& task, Room room);
  void exchange(const Task& from, const Task& to);
  void take_back(TaskId t, const Task& old);
  void move(TaskId t, TaskState state, const Place& place, Instant started);
  void link(TaskId t);
  void unlink(TaskId t);

  // Read and written with every decision.
  NodeTable free_;
  NodeTable coming_;
  std::vector<Task> tasks_;
  std::vector<TaskId> first_on_;  // per node
  std::vector<Facts> facts_;      // per request
  std::vector<Undo> undo_;
  size_t open_trials_ = 0;

  // Read when something is added, or by tasks that need it.
  MigCount mig_count_ = MigCount::kPart;
  std::vector<NodeSpec> nodes_;
  int64_t smallest_gpu_memory_ = 0;         // bytes; 0 = none known
  std::vector<std::vector<Label>> labels_;  // per node, with "node"
  std::vector<Request> requests_;
  std::vector<std::pair<uint64_t, RequestId>> by_hash_;  // sorted
  std::vector<std::string> models_;                      // interned GPU models
  std::vector<std::string> profiles_;                    // interned MIG profile names
  std::vector<std::string> sharers_;                     // interned Request::shares_with of requests for parts
  InterferenceBook interference_;
  std::vector<MigNode> mig_;     // per node
  std::vector<NodeId> removed_;  // ids of no node; descending
  AffinityBook affinity_;
  std::deque<Domains> domains_;  // references stay
};

/// A trial that is undone at the end of its scope unless kept.
class Attempt {
 public:
  explicit Attempt(Cluster& cluster) : cluster_(cluster), trial_(cluster.open_trial()) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  ~Attempt() {
    if (!kept_) cluster_.undo(trial_);
  }
  void keep() {
    cluster_.keep(trial_);
    kept_ = true;
  }

 private:
  Cluster& cluster_;
  Cluster::Trial trial_;
  bool kept_ = false;
};

}  // namespace stint::sched
