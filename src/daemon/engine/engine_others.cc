// Jobs that others gave to the cluster by its own tools: they become jobs of the books, wait in the same queues under the same rules, and
// are started there. What runs there already holds its room.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "daemon/engine/engine_impl.h"
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

/// By name the newest; those that have left memory are found by the key that they came with.
void Engine::Impl::index_others() {
  others.clear();
  for (const JobBook& job : jobs)
    if (const std::string_view name = others_name(*job.request); !name.empty())
      others.insert_or_assign(std::string(name), job.id);
}

void Engine::Impl::hear_of_others(const OthersJob& job) {
  kept_out.erase(job.name);
  if (job.state == OthersJob::State::kEnded) told_kept_out.erase(job.name);
  const auto known = others.find(job.name);
  const sched::JobId id = known == others.end() ? sched::JobId() : find(known->second);
  if (!id.valid()) return take_in(job);
  const JobBook& book = jobs[id.index()];
  if (has_ended(book.state)) {
    // Its number is another job's now, or it is to end there as it has here.
    if (job.restarts == 0 && book.ended && job.submitted > *book.ended) return take_in(job);
    const bool waits = job.state == OthersJob::State::kWaits || job.state == OthersJob::State::kOnHold;
    if (waits && book.state != JobState::kNeverFits) dismissed.push_back(job.name);
    return;
  }
  if (!book.placed.empty()) return;  // its launches tell
  const CommandInfo by{.actor = std::string(backend->name()), .idempotency_key = ""};
  switch (job.state) {
    case OthersJob::State::kEnded: (void)stage_for_job(RecordKind::kCancel, book.id, by); return;
    case OthersJob::State::kRuns:
      kept_out.insert_or_assign(job.name, job);  // until it has its room
      return stage_adoption(book.id, job.machines);
    case OthersJob::State::kOnHold:
      if (!book.on_hold) (void)stage_for_job(RecordKind::kHold, book.id, by);
      return;
    case OthersJob::State::kWaits:
      if (book.on_hold) (void)stage_for_job(RecordKind::kRelease, book.id, by);
      return;
  }
}

/// They would wait here for ever: whoever took them back there did so while this daemon was away.
void Engine::Impl::miss_others(const OthersThere& there) {
  OthersJob gone;
  gone.state = OthersJob::State::kEnded;
  for (const auto& [name, id] : others) {
    if (std::ranges::binary_search(there.names, name)) continue;
    gone.name = name;
    hear_of_others(gone);
  }
}

/// What is refused stays where it is, and is asked for again later: budgets and quotas change.
void Engine::Impl::take_in(const OthersJob& job) {
  const bool runs = job.state == OthersJob::State::kRuns;
  const CommandInfo by{.actor = std::string(backend->name()), .idempotency_key = ""};
  const std::string key = fmt::format("{} job {} of {}", backend->name(), job.name, job.submitted.seconds());
  if (job.state == OthersJob::State::kEnded) {
    // In the step that takes it in it has no number yet.
    if (staged_keys.contains(key)) others_heard.push_back(job);
    return;
  }
  const JobRequest request = make_request(job, backend->name());
  const std::string digest = fingerprint_of_bytes(key);
  const Result<int64_t> before = answered(key, digest);
  if (!before.ok()) return kept_out.insert_or_assign(job.name, job), void();
  if (*before > 0) {
    // It has ended here and left memory.
    if (!runs) dismissed.push_back(job.name);
    return;
  }
  const Status apart = runs ? Status() : check_neighbours(request);
  const Result<int64_t> id = !apart.ok() ? Result<int64_t>(apart.error())
                             : runs      ? stage_unasked(request, by)
                                         : stage_request(request, by);
  if (!id.ok()) {
    kept_out.insert_or_assign(job.name, job);
    if (std::exchange(told_kept_out[job.name], id.error().message) == id.error().message) return;
    Record notice;
    notice.kind = RecordKind::kNotice;
    notice.notice.kind = "job.kept-out";
    notice.notice.queue = queue_ids.contains(job.queue) ? job.queue : "";
    notice.notice.detail = fmt::format("{} job {}: {}", backend->name(), job.name, id.error().message);
    staged.push_back(std::move(notice));
    return;
  }
  told_kept_out.erase(job.name);
  staged_keys.insert_or_assign(key, LogKey{key, digest, *id});
  if (!runs) return;
  kept_out.insert_or_assign(job.name, job);  // until it has its room
  stage_adoption(*id, job.machines);
}

void Engine::Impl::stage_adoption(int64_t id, std::vector<std::string> machines) {
  Record record;
  record.kind = RecordKind::kAdopt;
  record.actor = backend->name();
  record.job = id;
  record.nodes = std::move(machines);
  staged.push_back(std::move(record));
}

/// The cluster runs it: it has its machines in the books, too, as far as these have room there; else it is on hold and asked for again.
void Engine::Impl::apply_adoption(sched::JobId id, const std::vector<std::string>& machines) {
  JobBook& job = book(id);
  if (has_ended(job.state) || !job.placed.empty()) return;
  const auto its_submit = [&](const sched::Event& e) { return e.kind == sched::EventKind::kSubmit && e.job == id; };
  const bool is_new = std::erase_if(events, its_submit) > 0;
  std::vector<NodeId> ids;
  for (const std::string& name : machines)
    if (const auto node = node_ids.find(name); node != node_ids.end()) ids.push_back(node->second);
  scheduler->observe(now, {});
  const bool fits = ids.size() == machines.size() && std::ssize(ids) == job.request->tasks && scheduler->adopt(id, ids);
  if (!fits) {
    if (!job.on_hold) add_event(events, sched::EventKind::kHold, id);
    if (is_new) add_event(events, sched::EventKind::kSubmit, id);
    job.on_hold = true;
    job_runs.set_state(id, JobState::kOnHold);
    return trail.note("job.held", id, "", "its cluster runs it, and there is no room for it in the books");
  }
  std::vector<sched::Place> places;
  for (const sched::Task& task : scheduler->tasks_of(id))
    places.push_back(task.place);
  job.on_hold = false;
  job_runs.set_state(id, JobState::kWaiting);
  job_runs.decided({.kind = sched::DecisionKind::kStart, .reason = sched::Reason::kFree, .job = id, .places = places});
}

}  // namespace stint
