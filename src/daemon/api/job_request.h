// What somebody asks for with `stint submit`: a command and what each of its tasks needs. A plain value and its JSON.
//
// It is kept in the event log as it was accepted, so its JSON is a separate format: stint-job/1, docs/formats.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "sched/job.h"
#include "sched/request.h"
#include "sched/trials.h"

namespace stint {

struct JobGroup;

struct JobRequest {
  std::string name;   ///< need not be unique; empty = the command's first word
  std::string queue;  ///< as the configuration names it, such as "agency/vision"; the first part is the client
  std::string user;   ///< on whose behalf
  std::vector<std::pair<std::string, std::string>> tags;  ///< ascending by key, each key once

  // What runs. One of `command` and `script`.
  std::vector<std::string> command;  ///< program and arguments
  /// Handed to the interpreter of its `#!` line with -c (sh, bash, zsh, python); to /bin/sh where it has none.
  std::string script;
  std::vector<std::string> arguments;  ///< of the script
  std::string image;                   ///< of the container that it runs in; empty = the machine as it is
  std::string folder;                  ///< to run in; empty = the user's home, or the image's own
  std::vector<std::pair<std::string, std::string>> environment;
  std::string output_path;  ///< empty = kept with the job
  std::string error_path;

  // What each task needs. At most one of `gpus`, `gpu_milli`, `gpu_memory` and `mig_profile`.
  int32_t gpus = 0;
  int32_t gpu_milli = 0;    ///< of one GPU, 1 … 999
  Bytes gpu_memory;         ///< of one GPU
  std::string mig_profile;  ///< "1g.10gb"
  // Of a part of a GPU (gpu_milli, gpu_memory): who else may be there.
  std::string
      shares_with;        ///< a word: jobs of the client with the same one alone; empty = of the client, or as the operator says
  std::string work_kind;  ///< kind of work, by which the operator has measured who slows whom; empty = none
  int32_t max_slowdown_percent = -1;    ///< it may take so much longer for its neighbours; −1 = any
  std::vector<std::string> gpu_models;  ///< any of these; empty = any
  int64_t cpu_milli = 0;
  Bytes memory;
  std::vector<Label> node_labels;     ///< the node carries all of these
  std::vector<std::string> machines;  ///< names of those it may run on; empty = any
  std::vector<Label> labels;          ///< by which neighbours know its tasks
  /// Neighbours as "app=cache@rack" (parse_neighbour): each task in one domain of that label with a task of its client that has these
  /// labels …
  std::vector<std::string> affinity;
  std::vector<std::string> anti_affinity;  ///< … or in none with such a task; both ways

  /// Of a gang whose tasks differ: what each task needs stands with its group, in this order, and nothing of it above. Empty = all alike.
  std::vector<JobGroup> groups;

  // When and how often.
  int32_t tasks = 1;               ///< started together; of groups their sum
  int32_t min_tasks = 0;           ///< fewer never run; 0 = all of them
  std::string required_topology;   ///< label such as "rack": all tasks in one domain of it, or not at all; empty = none
  std::string preferred_topology;  ///< likewise where that fits; else spread over as few of them as can be
  int32_t priority = 50;           ///< 0 … 1000, higher first
  bool preemptible = true;
  bool on_hold = false;                     ///< does not wait for room before it is released
  Duration time_limit = sched::kUnlimited;  ///< of running
  Duration expected = sched::kUnlimited;    ///< how long it will run, where somebody knows
  Duration min_runtime;                     ///< not stopped for others before it has run this long
  Instant not_before;                       ///< the past = at once
  Instant deadline = sched::kNever;         ///< should have ended by then
  bool deferrable = false;                  ///< may wait for a cheaper hour as long as its deadline holds
  int32_t retries = 0;                      ///< starts again after that many failures
  sched::CheckpointBehaviour checkpoint;    ///< what it loses when it is stopped
  Duration grace = Duration::seconds(30);   ///< between being told to leave and the end by force
  std::vector<int64_t> after;               ///< starts when these jobs have succeeded; ids
  /// What a stage leaves: of the jobs of its client with the same word one is at work, and once it has succeeded the others are
  /// skipped, for ever. Empty = nothing that another could use.
  std::string makes;
  int32_t array = 0;    ///< so many jobs alike, told apart by STINT_ARRAY_INDEX; 0 = one, without
  int32_t at_once = 0;  ///< of an array: so many wait or run at a time; 0 = all
  /// A search by its client: jobs of the same name are its trials, which report how good they are (stint trial report); the hopeless
  /// ones are stopped. Empty = it is no trial.
  std::string study;
  sched::TrialRules rungs;      ///< of that study: the same for each of its trials
  Duration simulated_duration;  ///< on simulated nodes it runs this long; 0 = a minute

  bool operator==(const JobRequest&) const = default;
};

/// Some of a gang's tasks, all alike; or what holds other groups together.
struct JobGroup {
  std::string name;    ///< each once; its tasks find it in STINT_GROUP
  std::string within;  ///< a group that stands before it and has no tasks of its own; empty = the job
  JobRequest each;     ///< what each task needs, how many and at least how many, in which domain; nothing else
  bool operator==(const JobGroup&) const = default;
};

/// Tags that begin so say what a job is to the daemon: only the daemon may give them.
inline constexpr std::string_view kOwnTags = "stint.";
/// Bytes, and thousandths of CPUs.
inline constexpr int64_t kMostAmount = int64_t{1} << 50;
inline constexpr int32_t kMostTasks = 4'096;
inline constexpr int32_t kMostOfArray = 10'000;

inline constexpr int64_t kMostOfRungs = 1'000'000'000'000;
inline constexpr size_t kMostGroups = 64;
inline constexpr size_t kLongestScript = 100'000;

/// "app=cache,tier=hot@rack": labels, and the label of machines whose domains are meant, "node" when none is named.
/// @return error saying how it is written.
Result<sched::AffinityTerm> parse_neighbour(std::string_view text);

/// Ranges and contradictions, as far as the request alone shows them. @return error naming the field and what it may be.
Status check_request(const JobRequest& request);

/// The request as one line of JSON; fields with their default are left out.
std::string to_json(const JobRequest& request);

/// A JSON object as to_json() writes it, checked by check_request().
/// @return error naming the field that is unknown, stands twice, or has the wrong type or range.
Result<JobRequest> parse_job_request(std::string_view json);
/// The same as users write it: `after` has public ids (views.h). @param after  they; the request has none then.
Result<JobRequest> parse_job_request(std::string_view json, std::vector<std::string>& after);

}  // namespace stint
