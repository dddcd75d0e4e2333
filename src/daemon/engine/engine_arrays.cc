// An array as a whole: shown as one job with the sums of its jobs, and controlled as one.
//
// Its jobs follow each other in memory as in the log; those that have ended long ago are in the log alone and are read there once.
#include <algorithm>
#include <map>

#include "daemon/engine/engine_impl.h"

namespace stint {
namespace {

/// What stands for all: what goes on comes before what waits, that before what has ended, and the worst of the ends first.
constexpr JobState kBySignificance[] = {
    JobState::kRunning,   JobState::kLeaving,   JobState::kWaiting,          JobState::kNeedsApproval, JobState::kOnHold,
    JobState::kFailed,    JobState::kTimeLimit, JobState::kDependencyFailed, JobState::kNeverFits,     JobState::kRefused,
    JobState::kCancelled, JobState::kStopped,   JobState::kSkipped,          JobState::kSucceeded};

}  // namespace

/// What an array's jobs come to that have left memory. Nothing of it changes any more.
void Engine::Impl::add_forgotten(int64_t first, int32_t size, ArraySum& sum) const {
  const std::span<const JobBook> here = governance.decided_with(first);
  if (std::ssize(here) == size) return;
  constexpr size_t kMostKept = 1'000;
  if (forgotten_of_arrays.size() >= kMostKept && !forgotten_of_arrays.contains(first)) forgotten_of_arrays.clear();
  ForgottenJobs& known = forgotten_of_arrays[first];
  known.counted.resize(static_cast<size_t>(size));
  auto next = here.begin();
  for (int32_t i = 0; i < size; ++i) {
    if (next != here.end() && next->array_index == i) {
      ++next;
      continue;
    }
    if (known.counted[static_cast<size_t>(i)]) continue;
    const auto ended = log.ended_job(first + i);
    if (!ended.ok() || !*ended) continue;  // the log cannot be read just now
    const auto view = view_of(**ended);
    if (!view) continue;
    known.sum.add(*view, currency());
    known.counted[static_cast<size_t>(i)] = true;
  }
  sum.add(known.sum);
}

void ArraySum::add(const JobView& job, Currency currency) {
  ++jobs[job.state];
  if (!has_ended(job.state)) gpu_milli += job.gpu_milli;
  micro_gpu_hours += job.micro_gpu_hours;
  cost = cost.value_or(Money::nanos(0, currency)) + job.cost;
  starts += job.starts;
  failures += job.failures;
  if (job.first_started && (!first_started || *job.first_started < *first_started)) first_started = job.first_started;
  if (job.ended && (!ended || *job.ended > *ended)) ended = job.ended;
}

void ArraySum::add(const ArraySum& other) {
  for (const auto& [state, count] : other.jobs)
    jobs[state] += count;
  gpu_milli += other.gpu_milli;
  micro_gpu_hours += other.micro_gpu_hours;
  if (other.cost) cost = cost ? *cost + *other.cost : *other.cost;
  starts += other.starts;
  failures += other.failures;
  if (other.first_started && (!first_started || *other.first_started < *first_started)) first_started = other.first_started;
  if (other.ended && (!ended || *other.ended > *ended)) ended = other.ended;
}

std::optional<JobView> Engine::array(int64_t first) const {
  const Impl& s = *impl_;
  const std::span<const JobBook> here = s.governance.decided_with(first);
  std::optional<JobView> all = here.empty() ? job(first) : std::optional(s.view_of(here.front()));
  if (!all || all->array != first) return std::nullopt;
  ArraySum sum;
  Money burn = Money::nanos(0, s.currency());
  all->placed.clear();
  for (const JobBook& book : here) {
    // Most of a large array waits: what it has cost needs no look at the machines.
    JobView one;
    one.state = book.state;
    one.gpu_milli = all->gpu_milli;
    one.first_started = book.first_started;
    one.ended = book.ended;
    one.starts = book.starts;
    one.failures = book.failures;
    one.micro_gpu_hours = book.posted_micro_gpu_hours;
    one.cost = book.posted;
    if (!book.placed.empty()) {
      const sched::JobId id(static_cast<uint32_t>(&book - s.jobs.data()));
      one.micro_gpu_hours = s.costs.micro_gpu_hours_of(book, s.shown_at());
      one.cost = s.costs.cost_of(book, id, s.shown_at());
      burn += s.costs.burn_of(id).per_hour();
      std::ranges::move(s.view_of(book).placed, std::back_inserter(all->placed));
    }
    sum.add(one, s.currency());
  }
  s.add_forgotten(first, all->array_size, sum);
  all->id = first;
  all->number -= all->array_index;
  all->array_index = 0;
  all->whole_array = true;
  for (const JobState state : kBySignificance)
    if (const auto found = sum.jobs.find(state); found != sum.jobs.end()) all->array_jobs.emplace_back(*found);
  if (!all->array_jobs.empty()) all->state = all->array_jobs.front().first;
  all->reason.clear();
  all->gpu_milli = has_ended(all->state) ? all->gpu_milli * all->array_size : sum.gpu_milli;
  all->first_started = all->started = sum.first_started;
  all->ended = has_ended(all->state) ? sum.ended : std::nullopt;
  all->starts = sum.starts;
  all->failures = sum.failures;
  all->ends.clear();
  all->micro_gpu_hours = sum.micro_gpu_hours;
  all->cost = sum.cost.value_or(Money::nanos(0, s.currency()));
  all->burn = Rate::per_hour(burn);
  all->trial.reset();
  return all;
}

std::optional<JobView> Engine::array_with(int64_t id) const {
  const sched::JobId found = impl_->find(id);
  const int64_t first = found.valid() ? impl_->book(found).array_first : job(id).value_or(JobView()).array;
  return first > 0 ? array(first) : std::nullopt;
}

std::optional<JobView> Engine::next_of_array(int64_t first) const {
  const std::span<const JobBook> here = impl_->governance.decided_with(first);
  for (const JobState state : {JobState::kWaiting, JobState::kNeedsApproval, JobState::kOnHold})
    if (const auto next = std::ranges::find(here, state, &JobBook::state); next != here.end()) return job(next->id);
  return std::nullopt;
}

Result<std::vector<int32_t>> Engine::stage_array(JobControl what, int64_t first, const CommandInfo& by) {
  Impl& s = *impl_;
  TRY(s.commands.check_writable());
  const RecordKind kind = what == JobControl::kCancel ? RecordKind::kCancel
                          : what == JobControl::kHold ? RecordKind::kHold
                                                      : RecordKind::kRelease;
  std::vector<int32_t> taken;
  for (const JobBook& job : s.governance.decided_with(first)) {
    if (has_ended(job.state)) continue;
    TRY(s.commands.for_job(kind, job.id, by));
    taken.push_back(job.array_index);
  }
  if (!taken.empty()) return taken;
  const auto all = array(first);
  if (!all) return make_error(ErrorCode::kNotFound, "no such array");
  return make_error(ErrorCode::kConflict, "all jobs of array {} have ended: {}", public_id(*all), text_of(all->array_jobs));
}

}  // namespace stint
