#include "sim/run_durations.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sched/place/node_table.h"

namespace stint::sim {
namespace {

/// none = it has not run.
std::optional<sched::RunEnd> end_of(RunState state) {
  switch (state) {
    case RunState::kCompleted: return sched::RunEnd::kDone;
    case RunState::kFailed:
    case RunState::kCancelled: return sched::RunEnd::kBroken;
    case RunState::kRunning:
    case RunState::kTimeout:
    case RunState::kPreempted:
    case RunState::kNodeFail: return sched::RunEnd::kCutOff;
    case RunState::kUnknown:
    case RunState::kPending: break;
  }
  return std::nullopt;
}

/// As the daemon calls whoever submits: "CLIENT/USER".
std::string user_of(const Run& run) {
  const std::string& account = run.holder.account;
  const std::string client = run.tenant.client.empty() ? account.substr(0, account.find('/')) : run.tenant.client;
  return fmt::format("{}/{}", client, run.holder.user);
}

int64_t gpu_milli_of(const Run& run) {
  if (run.share) return run.share->parts() * sched::kMilli / run.share->total();
  int64_t gpus = 0;
  for (const RunAllocation& a : run.allocations)
    gpus += a.gpu_count;
  return (gpus > 0 ? gpus : run.gpus_requested) * sched::kMilli;
}

}  // namespace

sched::Kin kin_of_run(const Run& run) {
  const std::string user = user_of(run);
  if (is_interactive(run.kind) || (user == "/" && run.name.empty())) return {};
  return sched::kin_of(user, run.name);
}

std::vector<RunLength> lengths_of(std::span<const Run> runs, Instant until) {
  std::vector<RunLength> lengths;
  for (const Run& run : runs) {
    if (!run.started || !kin_of_run(run).known()) continue;
    const std::optional<sched::RunEnd> end = run.ended ? end_of(run.state) : sched::RunEnd::kCutOff;
    const Instant ended = run.ended.value_or(until);
    const int64_t gpu_milli = gpu_milli_of(run);
    if (!end || gpu_milli <= 0 || ended < *run.started) continue;
    lengths.push_back({.user = user_of(run),
                       .name = run.name,
                       .gpu_milli = gpu_milli,
                       .ran = ended - *run.started,
                       .how = *end,
                       .ended = ended});
  }
  std::ranges::stable_sort(lengths, {}, &RunLength::ended);
  return lengths;
}

sched::DurationBook durations_of(std::span<const RunLength> lengths) {
  sched::DurationBook book;
  for (const RunLength& l : lengths)
    book.learn(sched::kin_of(l.user, l.name), l.gpu_milli, l.ran, l.how, l.ended);
  return book;
}

}  // namespace stint::sim
