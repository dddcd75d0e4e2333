// Jobs that have ended leave memory: a record says when, so that a replay of the log forgets at the same step; the same step
// writes them down as rows, from which views are made again. See ended_job.h.
#include <algorithm>
#include <set>

#include "base/check.h"
#include "daemon/engine/ended_job.h"
#include "daemon/engine/engine_impl.h"

namespace stint {

/// Those that have ended, but for the last `keep`: who ended first goes first, of those the older. Of an array that waits for
/// approval none goes before all do.
std::vector<bool> Engine::Impl::who_leaves(int64_t keep) const {
  std::vector<uint32_t> ended;
  for (uint32_t j = 0; j < jobs.size(); ++j)
    if (has_ended(jobs[j].state)) ended.push_back(j);
  std::ranges::stable_sort(ended, {}, [&](uint32_t j) { return jobs[j].ended.value_or(Instant()); });
  std::vector<bool> gone(jobs.size());
  for (size_t i = 0; static_cast<int64_t>(i) < std::ssize(ended) - keep; ++i)
    gone[ended[i]] = scheduler->may_forget(sched::JobId(ended[i])) && !may_still_be_decided(jobs[ended[i]]);
  return gone;
}

bool Engine::Impl::may_still_be_decided(const JobBook& job) const {
  const ApprovalView* approval = governance.approval_of(job);
  return approval != nullptr && !approval->decided && governance.first_unapproved(governance.first_decided_with(job)) != 0;
}

/// What the log keeps of those whom these records make it forget.
std::vector<EndedJob> Engine::Impl::ended_jobs_of(const std::vector<Record>& records) const {
  std::vector<EndedJob> ended;
  for (const Record& record : records) {
    if (record.kind != RecordKind::kForget) continue;
    const std::vector<bool> gone = who_leaves(record.keep);
    for (size_t j = 0; j < gone.size(); ++j)
      if (gone[j])
        ended.push_back({.id = jobs[j].id,
                         .queue = queue_name(jobs[j].queue),
                         .user = jobs[j].request->user,
                         .name = jobs[j].request->name,
                         .state = static_cast<int32_t>(jobs[j].state),
                         .payload = encode_ended(jobs[j], governance.approval_of(jobs[j]))});
  }
  return ended;
}

void Engine::Impl::forget(int64_t keep) {
  const std::vector<bool> gone = who_leaves(keep);
  std::vector<uint32_t> renumbered;  // of those that are gone: as the next that stays
  renumbered.reserve(gone.size());
  for (uint32_t to = 0, j = 0; j < gone.size(); ++j) {
    renumbered.push_back(to);
    to += gone[j] ? 0U : 1U;
    if (!gone[j]) continue;
    Instant& until = forgotten_until[client_of(jobs[j].queue)];
    until = std::max(until, jobs[j].ended.value_or(now));
  }
  CHECK(touched.empty(), "jobs are forgotten after others were touched");
  std::erase_if(owed, [&](const sched::Event& e) { return gone[e.job.index()]; });
  std::erase_if(events, [&](const sched::Event& e) { return e.job.valid() && gone[e.job.index()]; });
  // Tasks are named by their place in the job meanwhile.
  for (std::vector<sched::Event>* of : {&owed, &events})
    for (sched::Event& e : *of)
      if (e.job.valid() && e.task.valid()) e.task = sched::TaskId(e.task.index() - book(e.job).first_task);
  for (std::vector<sched::Event>* of : {&owed, &events})
    for (sched::Event& e : *of)
      if (e.job.valid()) e.job = sched::JobId(renumbered[e.job.index()]);
  std::set<uint32_t> on_nodes;
  for (const uint32_t j : govern.on_nodes) {
    CHECK(!gone[j], "job {} is forgotten with tasks on nodes", jobs[j].id);
    on_nodes.insert(on_nodes.end(), renumbered[j]);
  }
  govern.on_nodes = std::move(on_nodes);

  arrays = scheduler->forget(gone);
  size_t to = 0;
  for (size_t from = 0; from < jobs.size(); ++from) {
    if (gone[from]) continue;
    if (to != from) jobs[to] = std::move(jobs[from]);
    ++to;
  }
  ended_in_memory -= std::ssize(jobs) - static_cast<int64_t>(to);
  jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(to), jobs.end());
  if (jobs.capacity() > 2 * jobs.size()) jobs.shrink_to_fit();
  // Of an array as long as one of its jobs is there. Jobs ascend, so those who are decided together lie together.
  auto job = jobs.begin();
  std::erase_if(govern.approvals, [&](const auto& approval) {
    job = std::find_if(job, jobs.end(), [&](const JobBook& of) { return governance.first_decided_with(of) >= approval.first; });
    return job == jobs.end() || governance.first_decided_with(*job) != approval.first;
  });
  for (uint32_t j = 0; j < jobs.size(); ++j)
    jobs[j].first_task = static_cast<uint32_t>(scheduler->tasks_of(sched::JobId(j)).data() - scheduler->cluster().tasks().data());
  for (std::vector<sched::Event>* of : {&owed, &events})
    for (sched::Event& e : *of)
      if (e.job.valid() && e.task.valid()) e.task = sched::TaskId(e.task.index() + book(e.job).first_task);
}

std::optional<JobView> Engine::Impl::view_of(const EndedJob& ended) const {
  auto decoded = decode_ended(ended.payload);
  const auto queue = queue_ids.find(ended.queue);
  if (!decoded.ok() || queue == queue_ids.end()) return std::nullopt;
  JobBook& job = decoded->job;
  job.id = ended.id;
  if (job.number == 0) job.number = ended.id;
  job.queue = queue->second;
  job.state = static_cast<JobState>(ended.state);
  JobView view = view_of(job);
  if (view.reason.empty()) view.reason = std::move(decoded->reason);  // else it names the job it waited for in vain
  view.approval = std::move(decoded->approval);
  return view;
}

std::optional<int64_t> Engine::find_job(const PublicId& name) const {
  const auto first = impl_->names_of.find(name.client, name.number);
  if (!first || !name.index) return first;
  const auto array = job(*first);
  if (!array || array->array != *first || *name.index >= array->array_size) return std::nullopt;
  return *first + *name.index;
}

std::optional<JobRequest> Engine::request_of(int64_t id) const {
  const Impl& s = *impl_;
  if (const sched::JobId found = s.find(id); found.valid()) return *s.jobs[found.index()].request;
  if (id < 1 || id > s.accepted) return std::nullopt;
  const auto ended = s.log.ended_job(id);
  if (!ended.ok() || !*ended) return std::nullopt;
  const auto decoded = decode_ended((*ended)->payload);
  return decoded.ok() ? std::optional(*decoded->job.request) : std::nullopt;
}

}  // namespace stint
