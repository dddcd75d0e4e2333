// What a job of Slurm asks for, in the scheduler's words. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "codec/slurm/slurm_queue.h"
#include "sched/job.h"
#include "sched/place/cluster.h"

namespace stint {

/// What only the job's owner can say, written by them into the comment: `--comment=stint:checkpoint=10m,signal=USR1,grace=30s`.
struct SlurmJobOptions {
  sched::CheckpointBehaviour checkpoint;  ///< checkpoint=INTERVAL, save=TIME, restart=TIME
  std::string signal;                     ///< signal=NAME: sent before the job is stopped; empty = none
  Duration grace;                         ///< grace=TIME: from that signal to the stop
  bool hold = false;                      ///< hold: is not to start
};
/// A comment that does not begin with `stint:` says nothing. @return error naming what is none of these.
Result<SlurmJobOptions> parse_slurm_options(std::string_view comment);

/// What was written into AdminComment when a job was last dealt with; only operators of Slurm can write there, so it is kept
/// for us over every restart.
struct SlurmNote {
  std::optional<Instant> placed;  ///< told to start then, on its ReqNodeList
  std::optional<int> restarts;    ///< placed: how often it had been run again by then
  std::optional<Instant> leaves;  ///< told to save; stopped at this instant
  std::optional<Instant> rests;   ///< did not start where it was to: not tried before then
  bool unpaid = false;            ///< held for as long as its account has spent its budget
  std::string launch;             ///< "MARK:17.0": the daemon that placed it, and as which job and attempt
  std::string wants;              ///< ReqNodeList as its owner had it
};
SlurmNote parse_slurm_note(std::string_view admin_comment);
/// The same of a job; what stands in its ReqNodeList before we wrote anything is the owner's wish.
SlurmNote note_of(const SlurmEntry& entry);
/// One word without blanks or commas in need of quotes: `stint/placed=1795297550/wants=n[1-2]`.
std::string to_text(const SlurmNote& note);

/// Gres in which GPUs are shared: "shard" or "mps", so many of each GPU; 0 = they are not.
struct SlurmParts {
  std::string name;
  int64_t per_gpu = 0;
};
/// Of the machine; of both kinds shards.
SlurmParts parts_of(const SlurmMachine& machine);

/// Slurm says how each of its conditions stands: `afterok:1(unfulfilled)`.
inline bool waits_for_others(const SlurmEntry& entry) { return !is_absent_in_slurm(entry.dependency); }
/// What Slurm runs again it puts off; that is no wish of the owner's.
inline bool begins_later(const SlurmEntry& entry, Instant now) {
  return entry.restarts == 0 && entry.begins && *entry.begins > now;
}

/// What all its tasks, one a node, ask for.
struct SlurmWish {
  sched::Request request;
  int32_t nodes = 1;
  bool set_nodes = false;  ///< Slurm has to be told how many
};
/// @param machines  of the cluster. @return error saying what the scheduler cannot take care of.
Result<SlurmWish> wish_of(const SlurmEntry& entry, std::string_view required_nodes, std::span<const SlurmMachine> machines);

/// What a job that runs on `nodes` machines holds of each, wherever it may run: as asked for, and where that cannot be said, an
/// even part of its GPUs.
SlurmWish held_by(const SlurmEntry& entry, size_t nodes, std::span<const SlurmMachine> machines);

/// Jobs of the queue by name: of an array's tasks that have not begun each that may begin soon has one, `17_3`. The oldest first.
struct NamedEntries {
  std::vector<std::pair<const SlurmEntry*, std::string>> named;  ///< of the entries given
  std::vector<std::string> notes;                                ///< what cannot be read, a sentence each
};
NamedEntries named_entries(std::span<const SlurmEntry> entries);

/// A machine as the scheduler knows it.
NodeSpec node_of(const SlurmMachine& machine);

}  // namespace stint
