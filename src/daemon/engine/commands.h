// What may come in: each command is checked against the state as it is, so that what is written can be applied; then it is part of the
// step. Errors: see Engine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/engine/governance.h"
#include "daemon/engine/job_asks.h"
#include "daemon/engine/job_names.h"
#include "daemon/engine/record_quota.h"
#include "daemon/engine/staged_step.h"

namespace stint {

class Commands {
 public:
  struct View {
    EventLog& log;
    Backend* const& backend;  ///< null while it follows
    const std::optional<std::string>& read_only;
    const FleetConfig& fleet;
    const std::vector<JobBook>& jobs;
    const std::vector<NodeBook>& nodes;
    const std::map<std::string, NodeId, std::less<>>& node_ids;
    const std::map<std::string, sched::QueueId, std::less<>>& queue_ids;
    const std::vector<StudyBook>& studies;
    const int64_t& accepted;
    const Instant& now;
    const Instant& looked_at;
    const JobAsks& asks;
    const JobNames& names;
    Governance& governance;
    StagedStep& staged;
  };
  explicit Commands(const View& view) : s_(view) {}

  /// See Engine.
  Result<int64_t> submit(const JobRequest& request, const CommandInfo& by);
  Result<std::vector<int64_t>> submit_pipeline(const std::vector<PipelineStage>& stages, const CommandInfo& by);
  Status report_trial(int64_t id, int32_t rung, int64_t loss_micro, const CommandInfo& by);
  Status for_job(RecordKind kind, int64_t id, const CommandInfo& by);
  Status for_node(RecordKind kind, std::string_view node, const CommandInfo& by);

  [[nodiscard]] Status check_writable() const;
  /// @return kConflict: it has ended and left memory.
  [[nodiscard]] Result<const JobBook*> find_job(int64_t id) const;

  // Jobs that a cluster has already.
  /// Parts of a GPU are kept apart by placing them, which a cluster that chooses the GPUs itself does not leave to us.
  [[nodiscard]] Status check_neighbours(const JobRequest& request) const;
  /// What was answered when the key was used before; 0 = it was not. @param digest  of the request.
  Result<int64_t> answered(const std::string& key, const std::string& digest);
  /// Checked and admitted, it is part of the step, with a row for each job that tells its id by its number. @return its id.
  Result<int64_t> submit_admitted(const JobRequest& request, const CommandInfo& by);
  /// It runs already: no rule is asked whether it may.
  Result<int64_t> submit_unasked(const JobRequest& request, const CommandInfo& by);

 private:
  [[nodiscard]] Status check_taken(const JobRequest& request) const;
  [[nodiscard]] std::vector<std::string> queues_beside(std::string_view queue) const;
  [[nodiscard]] Status check_submit(const JobRequest& request) const;
  [[nodiscard]] Status check_study(const JobRequest& request) const;
  int64_t put_submit(const JobRequest& request, const CommandInfo& by, std::string needs_approval);
  Status count(RecordKind kind, const JobBook& job, const CommandInfo& by);
  [[nodiscard]] Instant shown_at() const { return std::max(s_.now, s_.looked_at); }

  View s_;
  RecordQuota quota_;  ///< no part of the state
};

}  // namespace stint
