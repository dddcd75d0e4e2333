#include "daemon/engine/spend_accounts.h"

#include <algorithm>
#include <utility>

namespace stint {
namespace {

Spend spend_of(const RunPosting& posting) {
  return {.nanos = posting.amount.count_nanos(),
          .micro_gpu_hours = Int128{posting.gpu_milli} * 1'000 * posting.when.length().count_ns() / kHour.count_ns()};
}

/// A share of what all jobs of an array cost.
Spend part_of(const Spend& all, int64_t jobs) {
  return {.nanos = all.nanos / jobs, .micro_gpu_hours = all.micro_gpu_hours / jobs};
}

}  // namespace

std::string_view project_of(const JobRequest& request) {
  const auto tag = std::ranges::find(request.tags, kProjectTag, [](const auto& t) { return std::string_view(t.first); });
  return tag == request.tags.end() ? std::string_view() : std::string_view(tag->second);
}

void SpendAccounts::open(JobBook& job, const MostCost& cost, bool needs_approval) {
  const JobRequest& r = *job.request;
  const int32_t jobs_alike = std::max(r.array, 1);
  const int32_t at_once = r.at_once > 0 ? std::min(r.at_once, jobs_alike) : jobs_alike;
  job.account = book_.spend.account(job.queue.index(), r.user, std::string(project_of(r)));
  // Of an array that runs a few at a time, the last ones, which end last, stand for all.
  if (job.array_index >= jobs_alike - at_once) job.claimed_milli = cost.gpu_milli / at_once;
  Account& account = book_.spend[job.account];
  account.gpu_milli += job.claimed_milli;
  ++account.waiting;
  job.promised = part_of(cost.spend, jobs_alike);
  if (!needs_approval) promise(job);
}

void SpendAccounts::promise(JobBook& job) {
  book_.spend[job.account].promised += job.promised;
  book_.changed = true;
}

void SpendAccounts::close(JobBook& job) {
  Account& account = book_.spend[job.account];
  account.gpu_milli -= std::exchange(job.claimed_milli, 0);
  // What was not approved was never promised.
  if (job.state != JobState::kNeedsApproval) account.promised -= job.promised;
  job.promised = {};
  book_.changed = true;
}

void SpendAccounts::post(JobBook& job, const RunPosting& posting) {
  const Spend spend = spend_of(posting);
  book_.spend.post(job.account, posting.when, spend);
  const Spend kept = lesser(spend, job.promised);
  job.promised -= kept;
  book_.spend[job.account].promised -= kept;
  book_.changed = true;
}

void SpendAccounts::change_state(uint32_t id, const JobBook& job, JobState to) {
  const auto runs = [](JobState s) { return s == JobState::kRunning || s == JobState::kLeaving; };
  const auto pends = [&](JobState s) { return !runs(s) && !has_ended(s); };
  book_.spend[job.account].waiting += (pends(to) ? 1 : 0) - (pends(job.state) ? 1 : 0);
  if (runs(to))
    book_.on_nodes.insert(id);
  else
    book_.on_nodes.erase(id);
}

}  // namespace stint
