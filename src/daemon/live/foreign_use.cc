#include "daemon/live/foreign_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "model/mig.h"

namespace stint {
namespace {

/// Whom a process without an account that is told is charged to.
constexpr std::string_view kUnknownAccount = "unknown";

}  // namespace

void ForeignUse::look(const LiveSnapshot& snapshot) {
  std::set<std::pair<std::string, int>> divided;  // their MIG devices tell the same processes
  for (const LiveGpu& gpu : snapshot.gpus)
    if (gpu.device.mig_instance >= 0) divided.emplace(gpu.device.node, gpu.device.index);
  for (const LiveGpu& gpu : snapshot.gpus) {
    const DeviceKey& device = gpu.device;
    if (!gpu.processes_seen || (device.mig_instance < 0 && divided.contains({device.node, device.index}))) continue;
    const Instant at = *gpu.processes_seen;
    for (const LiveProcess& process : gpu.processes) {
      if (!is_uninvited(gpu, process)) continue;
      const std::string account = process.account.empty() ? std::string(kUnknownAccount) : process.account;
      const Key key(device.node, device.index, device.mig_instance, account);
      const Use first = {.began = at, .seen = at, .command = process.command, .device = device};
      const auto [it, fresh] = uses_.try_emplace(key, first);
      Use& use = it->second;
      if (fresh || at <= use.seen) continue;
      if (at - use.seen > kGap) {
        if (!use.told && use.seen > use.began) over_.push_back(run_of(key, use));
        use = first;
        continue;
      }
      use.seen = at;
      use.told = false;
    }
  }
}

std::vector<Run> ForeignUse::take() {
  std::vector<Run> runs = std::exchange(over_, {});
  Instant newest;
  for (const auto& [key, use] : uses_)
    newest = std::max(newest, use.seen);
  for (auto it = uses_.begin(); it != uses_.end();) {
    auto& [key, use] = *it;
    if (!use.told && use.seen > use.began) runs.push_back(run_of(key, use));
    use.told = true;
    it = newest - use.seen > kGap ? uses_.erase(it) : std::next(it);
  }
  return runs;
}

void ForeignUse::put_back(std::vector<Run> runs) {
  // The first of one id is written over by those after it.
  over_.insert(over_.begin(), std::make_move_iterator(runs.begin()), std::make_move_iterator(runs.end()));
}

Run ForeignUse::run_of(const Key& key, const Use& use) {
  const auto& [node, index, instance, account] = key;
  Run run;
  run.id = fmt::format("foreign-{}:{}{}-{}-{}", node, index, instance < 0 ? "" : fmt::format(":{}", instance), account,
                       use.began.seconds());
  run.name = use.command.empty() ? "a process of no job" : fmt::format("{} (no job)", use.command);
  run.holder.process = use.command;
  const size_t slash = account.find('/');  // accounts of jobs are CLIENT/USER
  if (slash != std::string::npos) run.tenant.client = account.substr(0, slash);
  run.holder.user = slash == std::string::npos ? account : account.substr(slash + 1);
  run.tenant.workload = run.name;
  run.state = RunState::kRunning;
  run.submitted = run.started = use.began;
  run.ended = use.seen;
  run.gpus_requested = 1;
  if (instance >= 0) run.share = GpuShare::milli(compute_milli(use.device.model, use.device.mig_profile));
  run.allocations.push_back({.node = node, .gpu_indexes = {index}, .gpu_count = 1});
  return run;
}

}  // namespace stint
