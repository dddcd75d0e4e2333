// Slurm's nodes and queue, mirrored into the scheduler; its decisions, as orders for Slurm. Pure: no program is run here.
//
// Slurm is the truth. Each pass compares what Slurm says with what the books say, brings the books in line (a job that ended,
// came back, runs elsewhere, was taken back, that somebody else started), lets the scheduler decide, and says what Slurm is to
// be told. Nothing is kept that Slurm does not keep: waiting is being held, and what was done with a job last is written into
// its AdminComment. So a pass may be cut off anywhere, and the next one goes on from what has become of it.
//
//   held ──kPlace──► released on its nodes ──► runs ──kSignal, grace──► kRequeue (held again)
//     ▲                    │ not begun in time
//     └──────kTakeBack─────┘
//
// Slurm goes on by itself meanwhile: what it runs that is not ours holds room in the books and is never stopped.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends/slurm_wish.h"
#include "base/money.h"
#include "codec/slurm_queue.h"
#include "model/workload.h"
#include "sched/scheduler.h"

namespace stint {

struct DriveRules {
  sched::Policy policy;
  std::vector<sched::QueueSpec> queues;             ///< by account; accounts that are not named get one each
  std::map<std::string, Rate, std::less<>> rates;   ///< of whole nodes, by name; others cost nothing
  std::vector<std::string> partitions;              ///< whose held jobs are ours; empty = all
  std::map<std::string, int32_t, std::less<>> qos;  ///< priority by QOS; others have 50
  Duration patience = Duration::seconds(60);        ///< a job that was placed begins within this, or is taken back …
  Duration rest = Duration::minutes(5);             ///< … and is not tried again for so long; then elsewhere for `patience`
  bool drives = true;  ///< false: what is held because its account has no money is left to who advises on the line
};

struct SlurmView {
  std::vector<SlurmMachine> machines;
  std::vector<SlurmEntry> entries;
};

/// A job that waits and that Slurm places itself.
struct SlurmTurn {
  const SlurmEntry* entry = nullptr;  ///< of the view
  SlurmNote note;
  sched::Request request;  ///< of each of `nodes`
  int32_t nodes = 1;
  int32_t priority = 0;  ///< of its QOS
};
struct SlurmLine {
  std::vector<SlurmTurn> paid;     ///< the first to go first
  std::vector<SlurmTurn> unpaid;   ///< of accounts that have spent their budget; as they were submitted
  std::vector<std::string> notes;  ///< what has no place in it and why, a sentence each
};

enum class SlurmOrderKind {
  kPlace,     ///< to start on `nodes`
  kSignal,    ///< to save: it is stopped later
  kRequeue,   ///< to stop, and to wait, held
  kTakeBack,  ///< to wait, held: it did not start
  // Of jobs that Slurm places itself:
  kPriority,  ///< to stand in line by `number`
  kNice,      ///< the same, by what Slurm takes off the priority it reckons
  kHold,      ///< to wait, held, until its account has money again
  kRelease,   ///< its account has
  kFeatures,  ///< to run on machines with `features` only
};
std::string_view name_of(
    SlurmOrderKind k);  // "place", "signal", "requeue", "take back", "priority", "nice", "hold", "release", …

struct SlurmOrder {
  SlurmOrderKind kind = SlurmOrderKind::kPlace;
  std::string job;
  std::vector<std::string> nodes;  ///< kPlace
  bool set_nodes = false;          ///< kPlace: Slurm has to be told how many
  bool begin_now = false;          ///< kPlace: it was requeued, which puts its begin off
  std::string signal;              ///< kSignal
  int64_t number = 0;              ///< kPriority, kNice
  std::string features;            ///< kFeatures
  SlurmNote note;
  std::string why;  ///< in words
};

class SlurmMirror {
 public:
  explicit SlurmMirror(DriveRules rules) : rules_(std::move(rules)) {}

  /// Begins anew: what ran before counts in fair shares and budgets, what runs is taken over.
  /// @param past  runs of this cluster; those without an end are passed over.
  void begin(Instant now, const SlurmView& view, std::span<const Run> past);
  /// Has begun, and machines are still as they were, but for whether they take work.
  [[nodiscard]] bool follows(const SlurmView& view) const;

  /// @param view  follows() it. @param now  never before the last call's. @return in the order to carry out.
  std::vector<SlurmOrder> pass(Instant now, const SlurmView& view);
  /// The jobs that Slurm places itself, in the order the scheduler would have them, beside those that are ours.
  /// @param now, view  of the last pass.
  [[nodiscard]] SlurmLine line(Instant now, const SlurmView& view) const;

  /// Jobs that are held, would be ours and are not driven, with the reason; as of the last pass.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// As of the last pass: ours that wait for room, and all that run.
  [[nodiscard]] size_t waiting() const;
  [[nodiscard]] size_t running() const;
  /// Jobs the books have had since begin(): they grow.
  [[nodiscard]] size_t jobs_kept() const { return jobs_added_; }
  /// By account, those that have one.
  [[nodiscard]] std::map<std::string, sched::BudgetStanding> budgets() const;

 private:
  enum class Phase { kWaiting, kOnHold, kRunning, kLeaving, kRejected };
  struct Known {
    sched::JobId id;
    Phase phase = Phase::kWaiting;
    std::vector<NodeId> nodes;  ///< kRunning, kLeaving; ascending
    int restarts = 0;
    sched::Request request;
    int32_t tasks = 1;
    std::optional<Duration> time_limit;
    bool ends = false;  ///< kLeaving: does not wait again in the books
    bool seen = false;  ///< in this pass
  };
  enum class Standing { kNotOurs, kWaits, kOnHold, kStarts, kRuns, kEnded };
  struct Found {
    const SlurmEntry* entry = nullptr;
    std::string key;
    Standing standing = Standing::kNotOurs;
    SlurmNote note;
    SlurmJobOptions options;
    SlurmWish wish;
    std::vector<NodeId> nodes;  ///< kStarts, kRuns; ascending
  };

  /// Something that began or ended before begin().
  struct Moment {
    Instant at;
    bool begins = false;  ///< ends come first
    size_t index = 0;     ///< into the jobs of the past
    auto operator<=>(const Moment&) const = default;
  };
  struct PastJob {
    sched::JobId id;
    std::vector<NodeId> nodes;
    bool runs = false;  ///< it was taken over
  };
  using Events = std::vector<sched::Event>;
  using Orders = std::vector<SlurmOrder>;

  [[nodiscard]] std::vector<Found> look_at(Instant now, const SlurmView& view);
  void look_at(const SlurmEntry& entry, std::string key, Instant now, std::vector<Found>& found);
  [[nodiscard]] Standing standing_of(const Found& found, Instant now) const;
  [[nodiscard]] bool is_driven(std::string_view partition) const;
  [[nodiscard]] bool is_late(const Found& found, Instant now) const;
  /// Since we placed it: Slurm runs it again.
  [[nodiscard]] static bool has_run_since(const Found& found) {
    return found.note.restarts && found.entry->restarts > *found.note.restarts;
  }
  [[nodiscard]] bool stands_in_line(const SlurmEntry& entry, const SlurmNote& note, Instant now) const;

  [[nodiscard]] int32_t priority_of(const SlurmEntry& entry) const;
  Known& add(const Found& found);
  void add_past(const Run& run, std::vector<PastJob>& jobs, std::vector<Moment>& moments);
  /// @return what of it has to be adopted or submitted.
  bool compare(const Found& found, Events& events);
  bool compare_waiting(const Found& found, Known& known, Events& events);
  void lose(Known& known, Events& events) const;
  void cancel(std::string_view key, Events& events);
  void cancel_unseen(Events& events);
  void take_in_machines(Instant now, const SlurmView& view, Events& events);
  [[nodiscard]] std::set<std::string, std::less<>> used_without_job(Instant now, const SlurmView& view);
  void take_up(std::vector<const Found*>& changed, Events& submits);
  void carry_out(const sched::Decision& decision, const Found& found, Instant now, Orders& orders);
  [[nodiscard]] std::string words(const sched::Decision& decision, const std::map<sched::JobId, const Found*>& jobs) const;
  sched::QueueId queue_of(const std::string& account);
  [[nodiscard]] std::vector<NodeId> ids_of(std::string_view hostlist) const;

  DriveRules rules_;
  std::optional<sched::Scheduler> scheduler_;
  std::vector<SlurmMachine> machines_;
  std::map<std::string, NodeId, std::less<>> node_ids_;
  std::map<std::string, sched::QueueId, std::less<>> queue_ids_;
  std::map<std::string, Known, std::less<>> known_;
  std::map<std::string, Instant, std::less<>> lost_count_;  ///< machines whose GPUs count as used without a job, since when
  std::vector<std::string> notes_;
  size_t jobs_added_ = 0;
};

}  // namespace stint
