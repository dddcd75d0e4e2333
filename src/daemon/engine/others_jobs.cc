#include "daemon/engine/others_jobs.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "daemon/engine/commands.h"
#include "host/file.h"

namespace stint {
namespace {

/// Tag of such a job: what its cluster calls it.
constexpr std::string_view kOthersTag = "stint.cluster-job";

std::string_view others_name(const JobRequest& request) {
  const auto tag = std::ranges::find(request.tags, kOthersTag, [](const auto& t) { return std::string_view(t.first); });
  return tag == request.tags.end() ? std::string_view() : std::string_view(tag->second);
}

JobRequest make_request(const OthersJob& job, std::string_view cluster) {
  JobRequest request;
  request.name = job.title.substr(0, 200);
  request.queue = job.queue;
  request.user = job.user;
  request.tags = {{std::string(kOthersTag), job.name}};
  request.command = {fmt::format("{} job {}", cluster, job.name)};
  request.gpus = job.gpus;
  request.gpu_milli = job.gpu_milli;
  request.mig_profile = job.mig_profile;
  request.gpu_models = job.gpu_models;
  request.cpu_milli = job.cpu_milli;
  request.memory = job.memory;
  request.machines = job.only_on;
  request.tasks = job.tasks;
  request.priority = job.priority;
  request.preemptible = job.preemptible && job.state != OthersJob::State::kRuns;
  request.on_hold = job.state == OthersJob::State::kOnHold;
  if (job.time_limit && *job.time_limit > Duration()) request.time_limit = *job.time_limit;
  if (job.deadline) request.deadline = *job.deadline;
  if (job.saves_every > Duration()) request.checkpoint.interval = job.saves_every;
  request.checkpoint.save = job.saving;
  request.checkpoint.restart = job.restarting;
  request.grace = job.grace;
  return request;
}

}  // namespace

std::string others_job_of(const JobRequest& request) { return std::string(others_name(request)); }

Status check_no_others_job(const JobRequest& request) {
  if (others_name(request).empty()) return {};
  return invalid("field 'tags': '{}' is kept for jobs that the cluster has already", kOthersTag);
}

void OthersJobs::index() {
  by_name_.clear();
  for (const JobBook& job : s_.jobs)
    if (const std::string_view name = others_name(*job.request); !name.empty())
      by_name_.insert_or_assign(std::string(name), job.id);
}

void OthersJobs::hear(bool all_is_known) {
  for (const OthersJob& job : std::exchange(heard_, {}))
    hear_of(job);
  if (all_is_known && there_) miss(*std::exchange(there_, std::nullopt));
}

void OthersJobs::ask_again() {
  index();
  for (auto& [name, job] : std::exchange(kept_out_, {}))
    heard_.push_back(std::move(job));
}

void OthersJobs::hear_of(const OthersJob& job) {
  kept_out_.erase(job.name);
  if (job.state == OthersJob::State::kEnded) told_kept_out_.erase(job.name);
  const auto known = by_name_.find(job.name);
  const sched::JobId id = known == by_name_.end() ? sched::JobId() : find_job(s_.jobs, known->second);
  if (!id.valid()) return take_in(job);
  const JobBook& book = s_.jobs[id.index()];
  if (has_ended(book.state)) {
    // Its number is another job's now, or it is to end there as it has here.
    if (job.restarts == 0 && book.ended && job.submitted > *book.ended) return take_in(job);
    const bool waits = job.state == OthersJob::State::kWaits || job.state == OthersJob::State::kOnHold;
    if (waits && book.state != JobState::kNeverFits) s_.dismissed.push_back(job.name);
    return;
  }
  if (!book.placed.empty()) return;  // its launches tell
  const CommandInfo by{.actor = std::string(s_.backend->name()), .idempotency_key = ""};
  switch (job.state) {
    case OthersJob::State::kEnded: (void)s_.commands.for_job(RecordKind::kCancel, book.id, by); return;
    case OthersJob::State::kRuns:
      kept_out_.insert_or_assign(job.name, job);  // until it has its room
      return stage_adoption(book.id, job.machines);
    case OthersJob::State::kOnHold:
      if (!book.on_hold) (void)s_.commands.for_job(RecordKind::kHold, book.id, by);
      return;
    case OthersJob::State::kWaits:
      if (book.on_hold) (void)s_.commands.for_job(RecordKind::kRelease, book.id, by);
      return;
  }
}

void OthersJobs::miss(const OthersThere& there) {
  OthersJob gone;
  gone.state = OthersJob::State::kEnded;
  for (const auto& [name, id] : by_name_) {
    if (std::ranges::binary_search(there.names, name)) continue;
    gone.name = name;
    hear_of(gone);
  }
}

/// What is refused stays where it is, and is asked for again later: budgets and quotas change.
void OthersJobs::take_in(const OthersJob& job) {
  const bool runs = job.state == OthersJob::State::kRuns;
  const CommandInfo by{.actor = std::string(s_.backend->name()), .idempotency_key = ""};
  const std::string key = fmt::format("{} job {} of {}", s_.backend->name(), job.name, job.submitted.seconds());
  if (job.state == OthersJob::State::kEnded) {
    // In the step that takes it in it has no number yet.
    if (s_.staged.keys.contains(key)) heard_.push_back(job);
    return;
  }
  const JobRequest request = make_request(job, s_.backend->name());
  const std::string digest = fingerprint_of_bytes(key);
  const Result<int64_t> before = s_.commands.answered(key, digest);
  if (!before.ok()) return kept_out_.insert_or_assign(job.name, job), void();
  if (*before > 0) {
    // It has ended here and left memory.
    if (!runs) s_.dismissed.push_back(job.name);
    return;
  }
  const Status apart = runs ? Status() : s_.commands.check_neighbours(request);
  const Result<int64_t> id = !apart.ok() ? Result<int64_t>(apart.error())
                             : runs      ? s_.commands.submit_unasked(request, by)
                                         : s_.commands.submit_admitted(request, by);
  if (!id.ok()) {
    kept_out_.insert_or_assign(job.name, job);
    if (std::exchange(told_kept_out_[job.name], id.error().message) == id.error().message) return;
    Record notice;
    notice.kind = RecordKind::kNotice;
    notice.notice.kind = "job.kept-out";
    notice.notice.queue = s_.queue_ids.contains(job.queue) ? job.queue : "";
    notice.notice.detail = fmt::format("{} job {}: {}", s_.backend->name(), job.name, id.error().message);
    s_.staged.put(std::move(notice));
    return;
  }
  told_kept_out_.erase(job.name);
  s_.staged.keys.insert_or_assign(key, LogKey{key, digest, *id});
  if (!runs) return;
  kept_out_.insert_or_assign(job.name, job);  // until it has its room
  stage_adoption(*id, job.machines);
}

void OthersJobs::stage_adoption(int64_t id, std::vector<std::string> machines) {
  Record record;
  record.kind = RecordKind::kAdopt;
  record.actor = s_.backend->name();
  record.job = id;
  record.nodes = std::move(machines);
  s_.staged.put(std::move(record));
}

void OthersJobs::adopt(sched::JobId id, const std::vector<std::string>& machines) {
  JobBook& job = s_.jobs[id.index()];
  if (has_ended(job.state) || !job.placed.empty()) return;
  if (job.state == JobState::kNeedsApproval) s_.accounts.promise(job);  // it runs: what it may cost is promised
  const auto its_submit = [&](const sched::Event& e) { return e.kind == sched::EventKind::kSubmit && e.job == id; };
  const bool is_new = std::erase_if(s_.events, its_submit) > 0;
  std::vector<NodeId> ids;
  for (const std::string& name : machines)
    if (const auto node = s_.node_ids.find(name); node != s_.node_ids.end()) ids.push_back(node->second);
  s_.scheduler->observe(s_.now, {});
  const bool fits = ids.size() == machines.size() && std::ssize(ids) == job.request->tasks && s_.scheduler->adopt(id, ids);
  if (!fits) {
    if (!job.on_hold) add_event(s_.events, sched::EventKind::kHold, id);
    if (is_new) add_event(s_.events, sched::EventKind::kSubmit, id);
    job.on_hold = true;
    s_.runs.set_state(id, JobState::kOnHold);
    return s_.trail.note("job.held", id, "", "its cluster runs it, and there is no room for it in the books");
  }
  std::vector<sched::Place> places;
  for (const sched::Task& task : s_.scheduler->tasks_of(id))
    places.push_back(task.place);
  job.on_hold = false;
  s_.runs.set_state(id, JobState::kWaiting);
  s_.runs.decided({.kind = sched::DecisionKind::kStart, .reason = sched::Reason::kFree, .job = id, .places = places});
}

}  // namespace stint
