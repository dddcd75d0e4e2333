// What may come in: each command is checked against the state as it is, so that what is written can be applied.
#include <algorithm>
#include <set>

#include "base/nearest.h"
#include "base/text.h"
#include "daemon/api/job_groups.h"
#include "daemon/engine/engine_impl.h"
#include "host/file.h"
#include "sched/policy_text.h"

namespace stint {
/// Parts of a GPU are kept apart by placing them, which a cluster that chooses the GPUs itself does not leave to us.
Status Engine::Impl::check_neighbours(const JobRequest& request) const {
  if (!backend->chooses_gpus()) return {};
  for (int32_t task = 0; task < request.tasks; ++task) {
    const JobRequest& needs = needs_of(request, task);
    if (needs.gpu_milli == 0 && needs.gpu_memory == Bytes()) continue;
    const bool apart = !needs.shares_with.empty() || needs.max_slowdown_percent >= 0;
    if (!apart && fleet.govern.share_across_clients) continue;
    return invalid(
        "{} chooses the GPU of a part itself, and no job can be kept off that GPU: ask for a MIG device (--mig), a whole GPU, or "
        "{}",
        backend->name(),
        apart ? "a part without --shares-with and --max-slowdown-percent"
              : "have the operator allow govern: share_across_clients");
  }
  return {};
}

/// Not by every backend: it may be that others alone make the jobs there, or that it has no images.
Status Engine::Impl::check_taken(const JobRequest& request) const {
  TRY(check_no_others_job(request));
  if (backend == nullptr) return {};
  TRY(check_neighbours(request));
  int32_t task = 0;
  if (request.groups.empty()) return backend->takes(launch_like(request, task));
  for (const JobGroup& group : request.groups) {
    if (holds_groups(request, group)) continue;
    TRY(backend->takes(launch_like(request, task)));
    task += group.each.tasks;
  }
  return {};
}

Status Engine::Impl::check_writable() const {
  if (read_only) return make_error(ErrorCode::kUnavailable, "{}", *read_only);
  return {};
}

Result<const JobBook*> Engine::Impl::find_job(int64_t id) const {
  if (const sched::JobId found = find(id); found.valid()) return &jobs[found.index()];
  if (id < 1 || id > accepted) return make_error(ErrorCode::kNotFound, "no such job");
  return make_error(ErrorCode::kConflict, "job {} has ended", public_id_of(id));
}

/// Those of the same client; all where there is no such client: only who may submit everywhere gets as far as that.
std::vector<std::string> Engine::Impl::queues_beside(std::string_view queue) const {
  std::vector<std::string> all, of_client;
  for (const auto& [path, id] : queue_ids) {
    all.push_back(path);
    if (client_of_queue(path) == client_of_queue(queue)) of_client.push_back(path);
  }
  return of_client.empty() ? all : of_client;
}

Status Engine::Impl::check_submit(const JobRequest& request) const {
  TRY(check_request(request));
  if (!queue_ids.contains(request.queue))
    return make_error(ErrorCode::kNotFound, "no queue '{}'{}", excerpt(request.queue),
                      what_exists(request.queue, queues_beside(request.queue)));
  for (const int64_t after : request.after) {
    if (after < 1 || after > accepted + staged_jobs) return make_error(ErrorCode::kNotFound, "field 'after': no such job");
    if (after > accepted || find(after).valid()) continue;
    // What waits for it is told now: once it is written, it is not remembered how that job ended.
    TRY_ASSIGN(const std::optional<EndedJob> ended, log.ended_job(after));
    const JobState state = ended ? static_cast<JobState>(ended->state) : JobState::kFailed;
    if (state != JobState::kSucceeded && state != JobState::kSkipped)
      return make_error(ErrorCode::kConflict, "field 'after': job {} has ended without success: this job would never run",
                        public_id_of(after));
  }
  TRY(check_study(request));
  if (!request.required_topology.empty() || !request.preferred_topology.empty() || !request.affinity.empty() ||
      !request.anti_affinity.empty() || !request.groups.empty())
    TRY(asks.check_domains(request));
  constexpr int64_t kMostJobs = 4'000'000'000;
  if (accepted + staged_jobs + std::max(request.array, 1) > kMostJobs)
    return make_error(ErrorCode::kUnavailable, "the log is full with {} jobs: begin a new state folder", accepted);
  return {};
}

/// One study has one set of rungs.
Status Engine::Impl::check_study(const JobRequest& request) const {
  if (request.study.empty()) return {};
  const std::string_view client = client_of_queue(request.queue);
  const auto differs = [&](const sched::TrialRules& rungs) -> Status {
    if (rungs == request.rungs) return {};
    return make_error(ErrorCode::kConflict,
                      "study '{}' has rungs from {} to {}, 1 in {} goes on: give the same, or name another study", request.study,
                      rungs.first_rung, rungs.most, rungs.reduction);
  };
  for (const StudyBook& study : studies)
    if (study.client == client && study.name == request.study) return differs(study.rungs);
  for (const Record& record : staged)
    if (record.kind == RecordKind::kSubmit && record.request.study == request.study &&
        client_of_queue(record.request.queue) == client)
      return differs(record.request.rungs);
  return {};
}

/// What was answered when the key was used before; 0 = it was not. @param digest  of the request.
Result<int64_t> Engine::Impl::answered(const std::string& key, const std::string& digest) {
  constexpr size_t kLongestKey = 200;
  if (key.empty()) return 0;
  if (key.size() > kLongestKey) return invalid("idempotency key: {} bytes; {} at most", key.size(), kLongestKey);
  const auto staged_key = staged_keys.find(key);
  TRY_ASSIGN(std::optional<LogKey> known, staged_key != staged_keys.end()
                                              ? Result<std::optional<LogKey>>(std::optional(staged_key->second))
                                              : log.find_key(key));
  if (known && known->request != digest)
    return make_error(ErrorCode::kConflict, "idempotency key '{}' was used for another request: use a new key", excerpt(key));
  return known ? known->answer : 0;
}

int64_t Engine::Impl::next_number(std::string_view client) const {
  const auto last = numbered.find(client);
  return std::max(last == numbered.end() ? 0 : last->second, unnumbered) + 1;
}

/// Checked and admitted, it is part of the step, with a row for each job that tells its id by its number. @return its id.
Result<int64_t> Engine::Impl::stage_request(const JobRequest& request, const CommandInfo& by) {
  TRY(check_submit(request));
  const std::string client(client_of_queue(request.queue));
  const LogUse use = log_use_of(request);
  TRY(log_quota.check(client, request.user, use, fleet.govern.rules_of(client), shown_at(), by.refusal.get()));
  TRY_ASSIGN(std::string needs_approval, governance.admit_submit(request, shown_at(), by.refusal.get()));
  log_quota.add(client, request.user, use, shown_at());
  return put_submit(request, by, std::move(needs_approval));
}

/// It runs already: no rule is asked whether it may.
Result<int64_t> Engine::Impl::stage_unasked(const JobRequest& request, const CommandInfo& by) {
  TRY(check_submit(request));
  return put_submit(request, by, "");
}

int64_t Engine::Impl::put_submit(const JobRequest& request, const CommandInfo& by, std::string needs_approval) {
  const std::string client(client_of_queue(request.queue));
  Record record;
  record.kind = RecordKind::kSubmit;
  record.actor = by.actor;
  record.job = accepted + staged_jobs + 1;
  int64_t& staged_number = staged_numbers[client];
  record.number = next_number(client) + staged_number;
  for (int32_t i = 0; i < std::max(request.array, 1); ++i)
    staged_rows.push_back({kNumberStream + client, std::to_string(record.job + i)});
  staged_number += std::max(request.array, 1);
  record.request = request;
  record.reason = std::move(needs_approval);
  staged_jobs += static_cast<uint32_t>(std::max(request.array, 1));
  const int64_t id = record.job;
  staged.push_back(std::move(record));
  return id;
}

Result<int64_t> Engine::stage_submit(const JobRequest& request, const CommandInfo& by) {
  Impl& s = *impl_;
  TRY(s.check_writable());
  TRY(s.check_taken(request));
  const std::string digest = by.idempotency_key.empty() ? "" : fingerprint_of_bytes(to_json(request));
  TRY_ASSIGN(const int64_t before, s.answered(by.idempotency_key, digest));
  if (before > 0) return before;
  TRY_ASSIGN(const int64_t id, s.stage_request(request, by));
  if (!by.idempotency_key.empty()) s.staged_keys.insert_or_assign(by.idempotency_key, LogKey{by.idempotency_key, digest, id});
  return id;
}

Result<std::vector<int64_t>> Engine::stage_pipeline(const std::vector<PipelineStage>& stages, const CommandInfo& by) {
  Impl& s = *impl_;
  TRY(s.check_writable());
  std::string text;
  std::vector<int64_t> ids;
  const int64_t next = s.accepted + s.staged_jobs + 1;
  const auto number = [&](int64_t first) {
    ids.clear();
    for (const PipelineStage& stage : stages) {
      ids.push_back(first);
      first += std::max(stage.request.array, 1);
    }
  };
  for (const PipelineStage& stage : stages)
    TRY(s.check_taken(stage.request));
  for (const PipelineStage& stage : stages)
    text += fmt::format("{} {}\n", to_json(stage.request), fmt::join(stage.after, ","));
  const std::string digest = by.idempotency_key.empty() ? "" : fingerprint_of_bytes(text);
  TRY_ASSIGN(const int64_t before, s.answered(by.idempotency_key, digest));
  number(before > 0 ? before : next);
  if (before > 0) return ids;
  const size_t staged_before = s.staged.size();
  const uint32_t jobs_before = s.staged_jobs;
  const SpendBook spend_before = s.governance.claims();
  const size_t rows_before = s.staged_rows.size();
  const auto numbers_before = s.staged_numbers;
  const RecordQuota quota_before = s.log_quota;
  for (size_t i = 0; i < stages.size(); ++i) {
    JobRequest request = stages[i].request;
    for (const size_t earlier : stages[i].after)
      for (int64_t of = 0; of < std::max(stages[earlier].request.array, 1); ++of)
        request.after.push_back(ids[earlier] + of);
    const Result<int64_t> staged = s.stage_request(request, by);
    if (staged.ok()) continue;
    s.staged.resize(staged_before);
    s.staged_jobs = jobs_before;
    s.governance.set_claims(spend_before);
    s.staged_rows.resize(rows_before);
    s.staged_numbers = numbers_before;
    s.log_quota = quota_before;
    return make_error(staged.error().code, "stage '{}': {}", excerpt(stages[i].request.name), staged.error().message);
  }
  if (!by.idempotency_key.empty())
    s.staged_keys.insert_or_assign(by.idempotency_key, LogKey{by.idempotency_key, digest, ids.front()});
  return ids;
}

/// What a user says of jobs again and again is held to a quota; what ends a job, once, is not.
Status Engine::Impl::count_command(RecordKind kind, const JobBook& job, const CommandInfo& by) {
  const std::string& client = client_of(job.queue);
  if (kind != RecordKind::kCancel)
    TRY(log_quota.check(client, by.actor, kCommandUse, fleet.govern.rules_of(client), shown_at(), by.refusal.get()));
  log_quota.add(client, by.actor, kCommandUse, shown_at());
  return {};
}

Status Engine::Impl::stage_for_job(RecordKind kind, int64_t id, const CommandInfo& by) {
  TRY(check_writable());
  TRY_ASSIGN(const JobBook* job, find_job(id));
  if (has_ended(job->state))
    return make_error(ErrorCode::kConflict, "job {} has ended: {}", public_id_of(id), name_of(job->state));
  if (kind == RecordKind::kCancel && job->cancelled) return {};  // asked again while it leaves
  TRY(count_command(kind, *job, by));
  Record record;
  record.kind = kind;
  record.actor = by.actor;
  record.job = id;
  staged.push_back(std::move(record));
  return {};
}

Status Engine::Impl::stage_for_node(RecordKind kind, std::string_view node, const CommandInfo& by) {
  TRY(check_writable());
  const auto known = node_ids.find(node);
  if (known == node_ids.end()) return make_error(ErrorCode::kNotFound, "no node '{}'", excerpt(node));
  if (kind == RecordKind::kNodeUp && !nodes[known->second.index()].counts())
    return make_error(ErrorCode::kConflict, "node '{}' is no longer in the configuration: put it back there", node);
  if (kind == RecordKind::kNodeUp && nodes[known->second.index()].lost)
    return make_error(ErrorCode::kConflict,
                      "node '{}' is lost: work starts there again once the machine is back, which the daemon sees by itself",
                      node);
  Record record;
  record.kind = kind;
  record.actor = by.actor;
  record.node = node;
  staged.push_back(std::move(record));
  return {};
}

Status Engine::stage_cancel(int64_t job, const CommandInfo& by) { return impl_->stage_for_job(RecordKind::kCancel, job, by); }
Status Engine::stage_hold(int64_t job, const CommandInfo& by) { return impl_->stage_for_job(RecordKind::kHold, job, by); }
Status Engine::stage_release(int64_t job, const CommandInfo& by) { return impl_->stage_for_job(RecordKind::kRelease, job, by); }
Status Engine::stage_checkpoint(int64_t job, const CommandInfo& by) {
  return impl_->stage_for_job(RecordKind::kCheckpoint, job, by);
}
Status Engine::stage_trial(int64_t id, int32_t rung, int64_t loss_micro, const CommandInfo& by) {
  Impl& s = *impl_;
  TRY(s.check_writable());
  TRY_ASSIGN(const JobBook* job, s.find_job(id));
  const std::string name = s.public_id_of(id);
  if (job->request->study.empty()) return make_error(ErrorCode::kConflict, "job {} is no trial: submit it with --study", name);
  const int rungs = sched::Asha(job->request->rungs).rungs();
  if (rung < 0 || rung >= rungs) return invalid("rung {}: study '{}' has rungs 0 to {}", rung, job->request->study, rungs - 1);
  if (!job->reports.empty() && rung <= job->reports.back().rung) return {};
  if (job->state != JobState::kRunning && job->state != JobState::kLeaving)
    return make_error(ErrorCode::kConflict, "job {} does not run: {}", name, name_of(job->state));
  TRY(s.count_command(RecordKind::kTrial, *job, by));
  Record record;
  record.kind = RecordKind::kTrial;
  record.actor = by.actor;
  record.job = id;
  record.rung = rung;
  record.loss_micro = loss_micro;
  s.staged.push_back(std::move(record));
  return {};
}
Status Engine::stage_drain(std::string_view node, const CommandInfo& by) {
  return impl_->stage_for_node(RecordKind::kNodeDrain, node, by);
}
Status Engine::stage_up(std::string_view node, const CommandInfo& by) {
  return impl_->stage_for_node(RecordKind::kNodeUp, node, by);
}
Status Engine::stage_down(std::string_view node, const CommandInfo& by) {
  return impl_->stage_for_node(RecordKind::kNodeDown, node, by);
}

/// Queues in the order of their ids, new ones behind: where they stand in the file does not matter.
Result<FleetConfig> Engine::Impl::in_known_order(FleetConfig next) const {
  std::vector<sched::QueueSpec> ordered;
  std::vector<std::string> parents;
  const auto take = [&](const sched::QueueSpec& queue) {
    ordered.push_back(queue);
    parents.push_back(queue.parent.valid() ? next.queues[queue.parent.index()].name : "");
  };
  for (const sched::QueueSpec& known : fleet.queues) {
    const auto found = std::ranges::find(next.queues, known.name, &sched::QueueSpec::name);
    if (found == next.queues.end())
      return make_error(
          ErrorCode::kConflict,
          "queue '{}' is gone, but jobs and bills name it: leave it in; \"limit_gpus\": 0 keeps its jobs from starting",
          known.name);
    take(*found);
  }
  for (const sched::QueueSpec& queue : next.queues)
    if (std::ranges::find(ordered, queue.name, &sched::QueueSpec::name) == ordered.end()) take(queue);
  for (size_t q = 0; q < ordered.size(); ++q) {
    const auto parent = std::ranges::find(ordered, parents[q], &sched::QueueSpec::name);
    ordered[q].parent = parents[q].empty() ? sched::QueueId() : sched::QueueId(static_cast<uint32_t>(parent - ordered.begin()));
  }
  next.queues = std::move(ordered);
  return next;
}

/// As it would be read back from its record: what that does not say, or says in other words, makes no other fleet.
Result<FleetConfig> Engine::Impl::as_recorded(const FleetConfig& next) const {
  TRY_ASSIGN(const FleetConfig ordered, in_known_order(next));
  return parse_fleet_config(to_json(ordered), "fleet");
}

/// What a running scheduler cannot follow is refused here, before it is written.
Status Engine::Impl::check_fleet(const FleetConfig& next) const {
  TRY_ASSIGN(const sched::Policy policy, sched::parse_policy(next.policy));
  if (scheduler && policy != *sched::parse_policy(fleet.policy))
    return make_error(
        ErrorCode::kConflict,
        "policy '{}': what waits and runs is ordered by '{}', and this log is read again under it; begin a new state "
        "folder to change it",
        next.policy, fleet.policy);
  for (size_t q = 0; q < fleet.queues.size(); ++q) {
    if (q >= next.queues.size() || next.queues[q].name != fleet.queues[q].name || next.queues[q].parent != fleet.queues[q].parent)
      return make_error(ErrorCode::kConflict,
                        "queue '{}': it cannot get another parent: what it has cost was posted to its client",
                        fleet.queues[q].name);
    if (next.queues[q].budget != fleet.queues[q].budget)
      return make_error(ErrorCode::kConflict,
                        "queue '{}': its own budget cannot change while it is being spent; use one of govern.budgets, or `stint "
                        "budget set`",
                        fleet.queues[q].name);
  }
  if (scheduler && next.currency != fleet.currency)
    return make_error(ErrorCode::kConflict, "currency {}: what has run was posted in {}; begin a new state folder to change it",
                      next.currency.code(), fleet.currency.code());
  for (const Machine& node : next.nodes) {
    const auto known = node_ids.find(node.node.name);
    if (known != node_ids.end() && !is_same_but_price(node, nodes[known->second.index()].machine))
      return make_error(ErrorCode::kConflict,
                        "node '{}': a machine that is known can change its price only; give the new one a new name",
                        node.node.name);
  }
  return {};
}

Status Engine::stage_fleet(const FleetConfig& fleet, const CommandInfo& by) {
  TRY(impl_->check_writable());
  // As it will be read again.
  Record record;
  record.kind = RecordKind::kFleet;
  record.actor = by.actor;
  TRY_ASSIGN(const FleetConfig ordered, impl_->in_known_order(fleet));
  record.fleet = to_json(ordered);
  TRY_ASSIGN(const FleetConfig read, parse_fleet_config(record.fleet, "fleet"));
  TRY(impl_->check_fleet(read));
  impl_->staged.push_back(std::move(record));
  return {};
}

Result<int64_t> Engine::stage_learn(std::vector<sim::RunLength> lengths, const CommandInfo& by) {
  TRY(impl_->check_writable());
  if (impl_->scheduler->durations().learnt() > 0) return 0;
  // Lines and cells of the record.
  std::erase_if(lengths, [](const sim::RunLength& l) { return (l.user + l.name).find_first_of("\t\n") != std::string::npos; });
  if (lengths.size() > kMostLearnt) lengths.erase(lengths.begin(), lengths.end() - static_cast<std::ptrdiff_t>(kMostLearnt));
  if (lengths.empty()) return 0;
  Record record;
  record.kind = RecordKind::kLearn;
  record.actor = by.actor;
  record.lengths = std::move(lengths);
  const auto taken = static_cast<int64_t>(record.lengths.size());
  impl_->staged.push_back(std::move(record));
  return taken;
}

void Engine::stage_side_row(SideRow row) { impl_->staged_rows.push_back(std::move(row)); }
void Engine::stage_side_renewal(std::string stream) { impl_->staged_renewals.push_back(std::move(stream)); }

void Engine::stage_notice(EventView notice) {
  Record record;
  record.kind = RecordKind::kNotice;
  record.notice = std::move(notice);
  if (record.notice.job_number > 0)
    record.notice.job =
        find_job({.client = std::string(client_of_queue(record.notice.queue)), .number = record.notice.job_number}).value_or(0);
  impl_->staged.push_back(std::move(record));
}

}  // namespace stint
