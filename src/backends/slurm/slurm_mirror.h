// Slurm's nodes and queue as the neutral mirror sees them (backends/mirror/cluster_mirror.h); its orders, as orders for Slurm. Pure: no
// program is run here.
//
// Nothing is kept that Slurm does not keep: waiting is being held, and what was done with a job last is written into its AdminComment.
// So a pass may be cut off anywhere, and the next one goes on from what has become of it.
//
//   held ──kPlace──► released on its nodes ──► runs ──kSignal, grace──► kRequeue (held again)
//     ▲                    │ not begun in time
//     └──────kTakeBack─────┘
//
// Slurm goes on by itself meanwhile: what it runs that is not ours holds room in the books and is never stopped.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backends/mirror/cluster_mirror.h"
#include "backends/slurm/slurm_wish.h"
#include "base/money.h"
#include "codec/slurm/slurm_queue.h"
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
  explicit SlurmMirror(DriveRules rules) : rules_(std::move(rules)), mirror_(rules_.policy, rules_.queues) {}

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
  [[nodiscard]] size_t waiting() const { return mirror_.waiting(); }
  [[nodiscard]] size_t running() const { return mirror_.running(); }
  /// Jobs the books have had since begin(): they grow.
  [[nodiscard]] size_t jobs_kept() const { return mirror_.jobs_kept(); }
  /// By account, those that have one.
  [[nodiscard]] std::map<std::string, sched::BudgetStanding> budgets() const { return mirror_.budgets(); }

 private:
  /// A job as it was found, beside what the neutral mirror needs of it.
  struct Found {
    const SlurmEntry* entry = nullptr;
    SlurmNote note;
    SlurmJobOptions options;
    bool set_nodes = false;  ///< Slurm has to be told how many
  };
  /// What the mirror is shown, and what each of its jobs is in Slurm.
  struct Shown {
    ClusterView view;
    std::vector<Found> found;  ///< by the index of its jobs
  };
  using Orders = std::vector<SlurmOrder>;

  [[nodiscard]] Shown show(Instant now, const SlurmView& view);
  [[nodiscard]] std::vector<ClusterMachine> show_machines(Instant now, const SlurmView& view);
  void show_job(const SlurmEntry& entry, std::string key, Instant now, Shown& shown);
  [[nodiscard]] ClusterJob job_of(const SlurmEntry& entry, std::string key, const SlurmNote& note) const;
  [[nodiscard]] ClusterStanding standing_of(const SlurmEntry& entry, const SlurmNote& note, Instant now) const;
  [[nodiscard]] bool is_driven(std::string_view partition) const;
  [[nodiscard]] bool is_late(const SlurmEntry& entry, const SlurmNote& note, Instant now) const;
  [[nodiscard]] bool stands_in_line(const SlurmEntry& entry, const SlurmNote& note, Instant now) const;
  [[nodiscard]] int32_t priority_of(const SlurmEntry& entry) const;
  [[nodiscard]] std::set<std::string, std::less<>> used_without_job(Instant now, const SlurmView& view);
  /// Of jobs that did not begin, or have had their time to save.
  void settle(const Found& found, const ClusterJob& job, Instant now, Orders& orders) const;
  void carry_out(ClusterOrder order, const Shown& shown, Instant now, Orders& orders);
  /// Empty when it names a machine that is not there.
  [[nodiscard]] std::vector<std::string> machines_of(std::string_view hostlist) const;

  DriveRules rules_;
  ClusterMirror mirror_;
  std::vector<SlurmMachine> machines_;
  std::set<std::string, std::less<>> names_;                ///< of the machines
  std::map<std::string, Instant, std::less<>> lost_count_;  ///< machines whose GPUs count as used without a job, since when
  std::vector<std::string> notes_;
};

}  // namespace stint
