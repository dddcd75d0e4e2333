// Jobs that have ended leave memory; those that stay move up in all tables, in the order they had: whatever ties fall by id
// fall as before.
#include <algorithm>

#include "sched/scheduler_impl.h"

namespace stint::sched {
namespace {

constexpr uint32_t kGone = UINT32_MAX;

/// New indexes by old ones.
class Renumbering {
 public:
  explicit Renumbering(size_t size) { to_.reserve(size); }
  void keep() { to_.push_back(kept_++); }
  void drop() { to_.push_back(kGone); }

  [[nodiscard]] uint32_t kept() const { return kept_; }
  template <typename Tag>
  [[nodiscard]] bool has(Id<Tag> id) const {
    return to_[id.index()] != kGone;
  }
  /// Not valid: of one that is gone, or was not valid before.
  template <typename Tag>
  [[nodiscard]] Id<Tag> operator()(Id<Tag> id) const {
    return id.valid() && has(id) ? Id<Tag>(to_[id.index()]) : Id<Tag>();
  }
  template <typename Tag>
  void operator()(std::vector<Id<Tag>>& ids) const {
    std::erase_if(ids, [&](Id<Tag> id) { return !has(id); });
    for (Id<Tag>& id : ids)
      id = (*this)(id);
  }
  /// The rows of those that are kept, of a table that may be shorter than the ids go.
  template <typename T>
  void rows(std::vector<T>& table) const {
    size_t to = 0;
    for (size_t from = 0; from < table.size(); ++from) {
      if (to_[from] == kGone) continue;
      if (to != from) table[to] = std::move(table[from]);
      ++to;
    }
    table.erase(table.begin() + static_cast<std::ptrdiff_t>(to), table.end());
    if (table.capacity() > 2 * table.size()) table.shrink_to_fit();
  }

 private:
  std::vector<uint32_t> to_;
  uint32_t kept_ = 0;
};

/// Those stay that one which stays names.
Renumbering renumber_named(const std::vector<bool>& named) {
  Renumbering to(named.size());
  for (const bool is : named)
    is ? to.keep() : to.drop();
  return to;
}

Renumbering renumber_arrays(std::span<const JobTerms> terms, size_t count) {
  std::vector<bool> named(count);
  for (const JobTerms& t : terms)
    if (t.array.valid() && t.array.index() < count) named[t.array.index()] = true;
  return renumber_named(named);
}

}  // namespace

struct ForgetParts {
  static void tasks(Cluster& cluster, const Renumbering& task, const Renumbering& job) {
    CHECK(cluster.open_trials_ == 0, "jobs are forgotten inside a trial");
    cluster.undo_.clear();
    task.rows(cluster.tasks_);
    for (Task& t : cluster.tasks_) {
      t.job = job(t.job);
      t.before = task(t.before);
      t.after = task(t.after);
      t.place.task = task(t.place.task);
    }
    for (TaskId& first : cluster.first_on_)
      first = task(first);
  }
  static void timers(TimerHeap& timers, const Renumbering& job) {
    std::erase_if(timers.heap_, [&](const Timer& t) { return !job.has(t.job); });
    for (Timer& t : timers.heap_)
      t.job = job(t.job);
    std::make_heap(timers.heap_.begin(), timers.heap_.end());
  }
  static void waiting(std::vector<Waiting>& waiting, const Renumbering& job) {
    std::erase_if(waiting, [&](const Waiting& w) { return !job.has(w.job); });
    for (Waiting& w : waiting)
      w.job = job(w.job);
  }
  static void running(RunningOrder& running, const Renumbering& job) {
    running.size_ = 0;
    for (std::vector<Waiting>& block : running.blocks_) {
      waiting(block, job);
      running.size_ += block.size();
    }
    std::erase_if(running.blocks_, [](const auto& block) { return block.empty(); });
    running.lasts_.clear();
    for (const std::vector<Waiting>& block : running.blocks_)
      running.lasts_.push_back(block.back());
  }
  /// Those taken out and not yet off their heap leave both lists.
  static void pending(Pending& pending, const Renumbering& job) {
    const auto later = [](const Waiting& a, const Waiting& b) { return b.before(a); };
    for (Pending::Group& group : pending.groups_)
      for (std::vector<Waiting>* heap : {&group.heap, &group.gone}) {
        waiting(*heap, job);
        std::make_heap(heap->begin(), heap->end(), later);
      }
  }
  static void terms(TermsTable& table, std::vector<JobRecord>& records) {
    std::vector<bool> named(table.all_.size());
    for (const JobRecord& r : records)
      named[r.terms.index()] = true;
    const Renumbering to = renumber_named(named);
    to.rows(table.all_);
    for (JobRecord& r : records)
      r.terms = to(r.terms);
    for (TermsId& newest : table.newest_)
      newest = to(newest);
  }
  static void trials(Asha& study, const Renumbering& job) {
    for (auto& rung : study.rungs_)
      for (auto& entry : rung)
        entry.score.trial = job(JobId(entry.score.trial)).index();
  }
};

bool Scheduler::may_forget(JobId job) const {
  const JobRecord& r = impl_->jobs[job];
  return r.phase == Phase::kEnded && r.present_at == UINT32_MAX && !impl_->jobs.terms_of(job).study.valid();
}

uint32_t Scheduler::forget(const std::vector<bool>& gone) {
  SchedulerBooks& s = impl_->books;
  JobBook& jobs = s.jobs.book();
  CHECK(gone.size() == jobs.records.size(), "{} of {} jobs", gone.size(), jobs.records.size());
  CHECK(s.gates.ended.empty(), "jobs are forgotten inside a step");
  Renumbering job(gone.size());
  for (uint32_t j = 0; j < gone.size(); ++j) {
    CHECK(!gone[j] || may_forget(JobId(j)), "job {} is to be forgotten and has not ended", j);
    gone[j] ? job.drop() : job.keep();
  }
  Renumbering task(s.fleet.cluster.tasks().size());
  for (const Task& t : s.fleet.cluster.tasks())
    t.job.valid() && gone[t.job.index()] ? task.drop() : task.keep();  // stand-ins are of no job

  job.rows(jobs.records);
  ForgetParts::terms(jobs.terms, jobs.records);
  job.rows(s.accounts.burns);
  job.rows(jobs.kins);
  job.rows(s.gates.dependents);
  for (JobRecord& record : jobs.records)
    record.first_task = task(TaskId(record.first_task)).index();
  for (JobTerms& terms : jobs.terms.all())
    job(terms.after);  // what is gone of that has succeeded, or the job has ended itself
  for (std::vector<JobId>& waiting : s.gates.dependents)
    job(waiting);
  for (std::vector<JobId>* list : {&s.runs.held, &jobs.present, &s.runs.growing, &s.stopping.newcomers})
    job(*list);
  ForgetParts::tasks(s.fleet.cluster, task, job);
  ForgetParts::timers(s.runs.timers, job);
  ForgetParts::timers(s.stopping.level_timers, job);
  ForgetParts::running(s.stopping.running, job);
  ForgetParts::running(s.backfill.ends, job);
  ForgetParts::pending(s.line.pending, job);
  for (Asha& study : s.studies)
    ForgetParts::trials(study, job);

  for (const JobTerms& terms : jobs.terms.all())
    if (terms.array.valid() && terms.array.index() >= s.gates.arrays.size())
      s.gates.arrays.resize(terms.array.index() + size_t{1});
  const Renumbering array = renumber_arrays(jobs.terms.all(), s.gates.arrays.size());
  array.rows(s.gates.arrays);
  for (ArrayState& state : s.gates.arrays) {
    state.held_back.erase(state.held_back.begin(), state.held_back.begin() + static_cast<std::ptrdiff_t>(state.next));
    state.next = 0;
    job(state.held_back);
  }
  for (JobTerms& terms : jobs.terms.all())
    if (terms.array.valid()) terms.array = array(terms.array);
  // What has been made stays known to those who come later: products keep their numbers.
  for (ProductState& state : s.gates.products) {
    state.maker = job(state.maker);
    job(state.waiting);
  }

  std::erase_if(s.backfill.reservations, [&](const Reservation& r) { return !job.has(r.job); });
  for (Reservation& r : s.backfill.reservations)
    r.job = job(r.job);
  for (std::vector<Attempted>* searches : {&s.stopping.attempted, &s.backfill.reserved_for, &s.consolidation.moved_for})
    for (Attempted& search : *searches)
      if (search.job.valid() && !job.has(search.job))
        search = {};
      else
        search.job = job(search.job);
  for (Move& move : s.moving.moves) {
    move.job = job(move.job);
    task(move.tasks);
    task(move.stand_ins);
  }
  for (std::vector<TaskId>& idle : s.moving.idle_stand_ins)
    task(idle);
  s.sketch = {};
  s.paper = {};
  s.hours.slots.clear();
  s.draft.begin();
  return array.kept();
}

}  // namespace stint::sched
