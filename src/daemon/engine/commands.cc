#include "daemon/engine/commands.h"

#include <algorithm>

#include "base/nearest.h"
#include "base/text.h"
#include "daemon/api/job_groups.h"
#include "daemon/engine/launches.h"
#include "daemon/engine/others_jobs.h"
#include "host/file.h"

namespace stint {

Status Commands::check_neighbours(const JobRequest& request) const {
  if (!s_.backend->chooses_gpus()) return {};
  for (int32_t task = 0; task < request.tasks; ++task) {
    const JobRequest& needs = needs_of(request, task);
    if (needs.gpu_milli == 0 && needs.gpu_memory == Bytes()) continue;
    const bool apart = !needs.shares_with.empty() || needs.max_slowdown_percent >= 0;
    if (!apart && s_.fleet.govern.share_across_clients) continue;
    return invalid(
        "{} chooses the GPU of a part itself, and no job can be kept off that GPU: ask for a MIG device (--mig), a whole GPU, or "
        "{}",
        s_.backend->name(),
        apart ? "a part without --shares-with and --max-slowdown-percent"
              : "have the operator allow govern: share_across_clients");
  }
  return {};
}

/// Not by every backend: it may be that others alone make the jobs there, or that it has no images.
Status Commands::check_taken(const JobRequest& request) const {
  TRY(check_no_others_job(request));
  if (s_.backend == nullptr) return {};
  TRY(check_neighbours(request));
  int32_t task = 0;
  if (request.groups.empty()) return s_.backend->takes(launch_like(request, task));
  for (const JobGroup& group : request.groups) {
    if (holds_groups(request, group)) continue;
    TRY(s_.backend->takes(launch_like(request, task)));
    task += group.each.tasks;
  }
  return {};
}

Status Commands::check_writable() const {
  if (s_.read_only) return make_error(ErrorCode::kUnavailable, "{}", *s_.read_only);
  return {};
}

Result<const JobBook*> Commands::find_job(int64_t id) const {
  if (const sched::JobId found = stint::find_job(s_.jobs, id); found.valid()) return &s_.jobs[found.index()];
  if (id < 1 || id > s_.accepted) return make_error(ErrorCode::kNotFound, "no such job");
  return make_error(ErrorCode::kConflict, "job {} has ended", s_.names.public_id_of(id));
}

/// Those of the same client; all where there is no such client: only who may submit everywhere gets as far as that.
std::vector<std::string> Commands::queues_beside(std::string_view queue) const {
  std::vector<std::string> all, of_client;
  for (const auto& [path, id] : s_.queue_ids) {
    all.push_back(path);
    if (client_of_queue(path) == client_of_queue(queue)) of_client.push_back(path);
  }
  return of_client.empty() ? all : of_client;
}

Status Commands::check_submit(const JobRequest& request) const {
  TRY(check_request(request));
  if (!s_.queue_ids.contains(request.queue))
    return make_error(ErrorCode::kNotFound, "no queue '{}'{}", excerpt(request.queue),
                      what_exists(request.queue, queues_beside(request.queue)));
  for (const int64_t after : request.after) {
    if (after < 1 || after > s_.accepted + s_.staged.jobs) return make_error(ErrorCode::kNotFound, "field 'after': no such job");
    if (after > s_.accepted || stint::find_job(s_.jobs, after).valid()) continue;
    // What waits for it is told now: once it is written, it is not remembered how that job ended.
    TRY_ASSIGN(const std::optional<EndedJob> ended, s_.log.ended_job(after));
    const JobState state = ended ? static_cast<JobState>(ended->state) : JobState::kFailed;
    if (state != JobState::kSucceeded && state != JobState::kSkipped)
      return make_error(ErrorCode::kConflict, "field 'after': job {} has ended without success: this job would never run",
                        s_.names.public_id_of(after));
  }
  TRY(check_study(request));
  if (!request.required_topology.empty() || !request.preferred_topology.empty() || !request.affinity.empty() ||
      !request.anti_affinity.empty() || !request.groups.empty())
    TRY(s_.asks.check_domains(request));
  constexpr int64_t kMostJobs = 4'000'000'000;
  if (s_.accepted + s_.staged.jobs + std::max(request.array, 1) > kMostJobs)
    return make_error(ErrorCode::kUnavailable, "the log is full with {} jobs: begin a new state folder", s_.accepted);
  return {};
}

/// One study has one set of rungs.
Status Commands::check_study(const JobRequest& request) const {
  if (request.study.empty()) return {};
  const std::string_view client = client_of_queue(request.queue);
  const auto differs = [&](const sched::TrialRules& rungs) -> Status {
    if (rungs == request.rungs) return {};
    return make_error(ErrorCode::kConflict,
                      "study '{}' has rungs from {} to {}, 1 in {} goes on: give the same, or name another study", request.study,
                      rungs.first_rung, rungs.most, rungs.reduction);
  };
  for (const StudyBook& study : s_.studies)
    if (study.client == client && study.name == request.study) return differs(study.rungs);
  for (const Record& record : s_.staged.records)
    if (record.kind == RecordKind::kSubmit && record.request.study == request.study &&
        client_of_queue(record.request.queue) == client)
      return differs(record.request.rungs);
  return {};
}

Result<int64_t> Commands::answered(const std::string& key, const std::string& digest) {
  constexpr size_t kLongestKey = 200;
  if (key.empty()) return 0;
  if (key.size() > kLongestKey) return invalid("idempotency key: {} bytes; {} at most", key.size(), kLongestKey);
  const auto staged_key = s_.staged.keys.find(key);
  TRY_ASSIGN(std::optional<LogKey> known, staged_key != s_.staged.keys.end()
                                              ? Result<std::optional<LogKey>>(std::optional(staged_key->second))
                                              : s_.log.find_key(key));
  if (known && known->request != digest)
    return make_error(ErrorCode::kConflict, "idempotency key '{}' was used for another request: use a new key", excerpt(key));
  return known ? known->answer : 0;
}

Result<int64_t> Commands::submit_admitted(const JobRequest& request, const CommandInfo& by) {
  TRY(check_submit(request));
  const std::string client(client_of_queue(request.queue));
  const LogUse use = log_use_of(request);
  TRY(quota_.check(client, request.user, use, s_.fleet.govern.rules_of(client), shown_at(), by.refusal.get()));
  TRY_ASSIGN(std::string needs_approval, s_.governance.admit_submit(request, shown_at(), by.refusal.get()));
  quota_.add(client, request.user, use, shown_at());
  return put_submit(request, by, std::move(needs_approval));
}

Result<int64_t> Commands::submit_unasked(const JobRequest& request, const CommandInfo& by) {
  TRY(check_submit(request));
  return put_submit(request, by, "");
}

int64_t Commands::put_submit(const JobRequest& request, const CommandInfo& by, std::string needs_approval) {
  const std::string client(client_of_queue(request.queue));
  Record record;
  record.kind = RecordKind::kSubmit;
  record.actor = by.actor;
  record.job = s_.accepted + s_.staged.jobs + 1;
  int64_t& staged_number = s_.staged.numbers[client];
  record.number = s_.names.next(client) + staged_number;
  for (int32_t i = 0; i < std::max(request.array, 1); ++i)
    s_.staged.rows.push_back({kNumberStream + client, std::to_string(record.job + i)});
  staged_number += std::max(request.array, 1);
  record.request = request;
  record.reason = std::move(needs_approval);
  s_.staged.jobs += static_cast<uint32_t>(std::max(request.array, 1));
  const int64_t id = record.job;
  s_.staged.put(std::move(record));
  return id;
}

Result<int64_t> Commands::submit(const JobRequest& request, const CommandInfo& by) {
  TRY(check_writable());
  TRY(check_taken(request));
  const std::string digest = by.idempotency_key.empty() ? "" : fingerprint_of_bytes(to_json(request));
  TRY_ASSIGN(const int64_t before, answered(by.idempotency_key, digest));
  if (before > 0) return before;
  TRY_ASSIGN(const int64_t id, submit_admitted(request, by));
  if (!by.idempotency_key.empty()) s_.staged.keys.insert_or_assign(by.idempotency_key, LogKey{by.idempotency_key, digest, id});
  return id;
}

Result<std::vector<int64_t>> Commands::submit_pipeline(const std::vector<PipelineStage>& stages, const CommandInfo& by) {
  TRY(check_writable());
  std::string text;
  std::vector<int64_t> ids;
  const int64_t next = s_.accepted + s_.staged.jobs + 1;
  const auto number = [&](int64_t first) {
    ids.clear();
    for (const PipelineStage& stage : stages) {
      ids.push_back(first);
      first += std::max(stage.request.array, 1);
    }
  };
  for (const PipelineStage& stage : stages)
    TRY(check_taken(stage.request));
  for (const PipelineStage& stage : stages)
    text += fmt::format("{} {}\n", to_json(stage.request), fmt::join(stage.after, ","));
  const std::string digest = by.idempotency_key.empty() ? "" : fingerprint_of_bytes(text);
  TRY_ASSIGN(const int64_t before, answered(by.idempotency_key, digest));
  number(before > 0 ? before : next);
  if (before > 0) return ids;
  const StagedStep::Mark staged_before = s_.staged.mark();
  const SpendBook spend_before = s_.governance.claims();
  const RecordQuota quota_before = quota_;
  for (size_t i = 0; i < stages.size(); ++i) {
    JobRequest request = stages[i].request;
    for (const size_t earlier : stages[i].after)
      for (int64_t of = 0; of < std::max(stages[earlier].request.array, 1); ++of)
        request.after.push_back(ids[earlier] + of);
    const Result<int64_t> staged = submit_admitted(request, by);
    if (staged.ok()) continue;
    s_.staged.back_to(staged_before);
    s_.governance.set_claims(spend_before);
    quota_ = quota_before;
    return make_error(staged.error().code, "stage '{}': {}", excerpt(stages[i].request.name), staged.error().message);
  }
  if (!by.idempotency_key.empty())
    s_.staged.keys.insert_or_assign(by.idempotency_key, LogKey{by.idempotency_key, digest, ids.front()});
  return ids;
}

/// What a user says of jobs again and again is held to a quota; what ends a job, once, is not.
Status Commands::count(RecordKind kind, const JobBook& job, const CommandInfo& by) {
  const std::string& client = client_of(s_.fleet, job.queue);
  if (kind != RecordKind::kCancel)
    TRY(quota_.check(client, by.actor, kCommandUse, s_.fleet.govern.rules_of(client), shown_at(), by.refusal.get()));
  quota_.add(client, by.actor, kCommandUse, shown_at());
  return {};
}

Status Commands::for_job(RecordKind kind, int64_t id, const CommandInfo& by) {
  TRY(check_writable());
  TRY_ASSIGN(const JobBook* job, find_job(id));
  if (has_ended(job->state))
    return make_error(ErrorCode::kConflict, "job {} has ended: {}", s_.names.public_id_of(id), name_of(job->state));
  if (kind == RecordKind::kCancel && job->cancelled) return {};  // asked again while it leaves
  TRY(count(kind, *job, by));
  Record record;
  record.kind = kind;
  record.actor = by.actor;
  record.job = id;
  s_.staged.put(std::move(record));
  return {};
}

Status Commands::for_node(RecordKind kind, std::string_view node, const CommandInfo& by) {
  TRY(check_writable());
  const auto known = s_.node_ids.find(node);
  if (known == s_.node_ids.end()) return make_error(ErrorCode::kNotFound, "no node '{}'", excerpt(node));
  if (kind == RecordKind::kNodeUp && !s_.nodes[known->second.index()].counts())
    return make_error(ErrorCode::kConflict, "node '{}' is no longer in the configuration: put it back there", node);
  if (kind == RecordKind::kNodeUp && s_.nodes[known->second.index()].lost)
    return make_error(ErrorCode::kConflict,
                      "node '{}' is lost: work starts there again once the machine is back, which the daemon sees by itself",
                      node);
  Record record;
  record.kind = kind;
  record.actor = by.actor;
  record.node = node;
  s_.staged.put(std::move(record));
  return {};
}

Status Commands::report_trial(int64_t id, int32_t rung, int64_t loss_micro, const CommandInfo& by) {
  TRY(check_writable());
  TRY_ASSIGN(const JobBook* job, find_job(id));
  const std::string name = s_.names.public_id_of(id);
  if (job->request->study.empty()) return make_error(ErrorCode::kConflict, "job {} is no trial: submit it with --study", name);
  const int rungs = sched::Asha(job->request->rungs).rungs();
  if (rung < 0 || rung >= rungs) return invalid("rung {}: study '{}' has rungs 0 to {}", rung, job->request->study, rungs - 1);
  if (!job->reports.empty() && rung <= job->reports.back().rung) return {};
  if (job->state != JobState::kRunning && job->state != JobState::kLeaving)
    return make_error(ErrorCode::kConflict, "job {} does not run: {}", name, name_of(job->state));
  TRY(count(RecordKind::kTrial, *job, by));
  Record record;
  record.kind = RecordKind::kTrial;
  record.actor = by.actor;
  record.job = id;
  record.rung = rung;
  record.loss_micro = loss_micro;
  s_.staged.put(std::move(record));
  return {};
}

}  // namespace stint
