// Jobs that others gave to the cluster by its own tools: they become jobs of the books, wait in the same queues under the same rules, and
// are started there. What runs there already holds its room.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/engine/job_runs.h"
#include "daemon/engine/staged_step.h"

namespace stint {

class Commands;

/// Who submits cannot say that it is one.
Status check_no_others_job(const JobRequest& request);

class OthersJobs {
 public:
  struct View {
    Backend* const& backend;
    // The books.
    const Instant& now;
    const std::map<std::string, NodeId, std::less<>>& node_ids;
    const std::map<std::string, sched::QueueId, std::less<>>& queue_ids;
    std::vector<JobBook>& jobs;
    std::optional<sched::Scheduler>& scheduler;
    std::vector<sched::Event>& events;
    SpendAccounts& accounts;
    JobRuns& runs;
    EventTrail& trail;
    // Of the step being put together.
    Commands& commands;
    StagedStep& staged;
    std::vector<std::string>& dismissed;
  };
  explicit OthersJobs(const View& view) : s_(view) {}

  // What the cluster tells is kept until hear().
  void keep(OthersJob job) { heard_.push_back(std::move(job)); }
  void keep(OthersThere there) { there_ = std::move(there); }
  /// What was kept is looked at: jobs are submitted, held, cancelled, adopted, or told to end there. @param all_is_known  those that
  /// are no longer there were taken back while this daemon was away; they would wait here for ever.
  void hear(bool all_is_known);
  /// Those that were kept out, later: budgets and quotas change.
  void ask_again();
  /// By name the newest; those that have left memory are found by the key that they came with.
  void index();
  void add(std::string name, int64_t id) { by_name_.insert_or_assign(std::move(name), id); }
  /// The cluster runs it: it has its machines in the books, too, as far as these have room there; else it is on hold and asked for again.
  void adopt(sched::JobId id, const std::vector<std::string>& machines);

 private:
  void hear_of(const OthersJob& job);
  void miss(const OthersThere& there);
  void take_in(const OthersJob& job);
  void stage_adoption(int64_t id, std::vector<std::string> machines);

  View s_;
  std::map<std::string, int64_t, std::less<>> by_name_;     ///< ids, by what their cluster calls them
  std::map<std::string, OthersJob, std::less<>> kept_out_;  ///< refused, or not found room for; asked for again
  std::map<std::string, std::string, std::less<>>
      told_kept_out_;  ///< why, last; as long as its cluster has it and it is kept out
  std::vector<OthersJob> heard_;
  std::optional<OthersThere> there_;
};

}  // namespace stint
