// Source: Slurm manual, sbatch(1): --parsable, --nodelist, --gres, --no-requeue, --chdir, --uid; wait(2) for how an exit code is packed.
#include "backends/slurm/slurm_launch.h"

#include <algorithm>
#include <csignal>
#include <map>

#include "base/text.h"

namespace stint {
namespace {

constexpr std::string_view kNamePrefix = "stint-";
constexpr std::string_view kMarkPrefix = "stint-launch:";

/// For sh: as it stands, newlines too (shell_quoted() is for lines that a person pastes).
std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

bool is_variable(std::string_view name) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  return std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
}

/// Files may hold what sbatch would read as a pattern.
std::string literal_path(std::string_view path) {
  std::string out;
  for (const char c : path)
    out += c == '%' ? std::string("%%") : std::string(1, c);
  return out;
}

void add_gang(const GangPlace& gang, const std::string& node, std::string& script) {
  const std::string master = gang.master_address.empty() ? node : gang.master_address;
  script +=
      fmt::format("export RANK={} WORLD_SIZE={} LOCAL_RANK={} LOCAL_WORLD_SIZE={} MASTER_ADDR={} MASTER_PORT={}\n", gang.rank,
                  gang.world_size, gang.local_rank, gang.local_world_size, single_quoted(master), gang.master_port);
}

/// What a task of any backend finds set; its GPUs are for Slurm to name.
Result<std::string> script_of(const Launch& launch) {
  std::string script =
      "#!/bin/sh\n"
      "export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
      "HOME=$(getent passwd \"$(id -u)\" | cut -d: -f6); export HOME=\"${HOME:-/}\"\n";
  if (launch.folder.empty()) script += "cd \"$HOME\" 2>/dev/null || cd /\n";
  script += fmt::format("export STINT_NODE={} STINT_JOB={} STINT_ATTEMPT={} STINT_TASK={}\n", single_quoted(launch.node),
                        launch.key.job, launch.key.attempt, launch.key.task);
  if (launch.gpus.empty()) script += "export CUDA_VISIBLE_DEVICES=-1 NVIDIA_VISIBLE_DEVICES=void\n";
  if (launch.gang) add_gang(*launch.gang, launch.node, script);
  for (const auto& [name, value] : launch.environment) {
    if (!is_variable(name)) return invalid("launch {}: '{}' is no name of a variable", format_key(launch.key), excerpt(name));
    script += fmt::format("export {}={}\n", name, single_quoted(value));
  }
  script += "exec";
  for (const std::string& word : launch.command)
    script += " " + single_quoted(word);
  return script + "\n";
}

}  // namespace

namespace {

/// Which GPUs of the machine they are Slurm says.
Result<std::string> gres_of(const Launch& launch, const SlurmBatchRules& rules) {
  if (launch.gpu_milli > 0) {
    if (rules.parts.per_gpu == 0)
      return invalid("launch {}: Slurm divides no GPU of {}: give it shards (Gres=shard:…), or ask for a whole GPU",
                     format_key(launch.key), launch.node);
    constexpr int64_t kGpu = 1000;
    return fmt::format("{}:{}", rules.parts.name, (launch.gpu_milli * rules.parts.per_gpu + kGpu - 1) / kGpu);
  }
  std::map<std::string, int> devices;  // by MIG profile; "" = whole GPUs
  for (const GrantedGpu& gpu : launch.gpus)
    ++devices[gpu.mig_uuid];
  std::string gres;
  for (const auto& [profile, count] : devices)
    gres += fmt::format("{}{}:{}", gres.empty() ? "" : ",", profile.empty() ? rules.whole_gpus : "gpu:" + profile, count);
  return gres;
}

}  // namespace

Result<SlurmBatch> batch_of(const Launch& launch, const SlurmBatchRules& rules) {
  const std::string key = format_key(launch.key);
  if (launch.command.empty()) return invalid("launch {}: no command: give a program to run", key);
  TRY_ASSIGN(const std::string gres, gres_of(launch, rules));
  SlurmBatch batch;
  std::vector<std::string>& a = batch.arguments;
  a = {"--parsable", "--export=ALL", "--no-requeue", "--nodes=1", "--ntasks=1", "--job-name=" + own_name(launch.key)};
  a.push_back("--comment=" + std::string(kMarkPrefix) + rules.mark);
  a.push_back("--nodelist=" + launch.node);
  if (!gres.empty()) a.push_back("--gres=" + gres);
  constexpr int64_t kMilli = 1000;
  a.push_back(fmt::format("--cpus-per-task={}", std::max<int64_t>(1, (launch.cpu_milli + kMilli - 1) / kMilli)));
  constexpr int64_t kMebi = 1 << 20;
  if (launch.memory.count() > 0) a.push_back(fmt::format("--mem={}M", (launch.memory.count() + kMebi - 1) / kMebi));
  constexpr int64_t kMinute = 60;
  if (launch.time_limit > Duration())
    a.push_back(fmt::format("--time={}", std::max<int64_t>(1, (launch.time_limit.whole_seconds() + kMinute - 1) / kMinute)));
  const std::string base = rules.log_folder + "/" + key;
  const auto stream = [&](const std::string& named, const char* ending) {
    return literal_path(named.empty() ? base + ending : named);
  };
  a.push_back("--output=" + stream(launch.output_path, ".out"));
  // Both in one file where neither has its own, as sbatch has it: who comes first stays first.
  const bool joined = launch.output_path.empty() && launch.error_path.empty();
  a.push_back("--error=" + stream(launch.error_path, joined ? ".out" : ".err"));
  a.emplace_back("--open-mode=append");
  a.push_back("--chdir=" + (launch.folder.empty() ? std::string("/") : launch.folder));
  if (rules.user) {
    a.push_back(fmt::format("--uid={}", rules.user->uid));
    a.push_back(fmt::format("--gid={}", rules.user->gid));
  }
  if (!rules.account.empty()) a.push_back("--account=" + rules.account);
  if (!rules.partition.empty()) a.push_back("--partition=" + rules.partition);
  TRY_ASSIGN(batch.script, script_of(launch));
  return batch;
}

std::string own_name(const LaunchKey& key) { return std::string(kNamePrefix) + format_key(key); }

std::optional<LaunchKey> own_launch(const SlurmEntry& entry, std::string_view mark) {
  const std::string_view name = entry.name, comment = entry.comment;
  if (!name.starts_with(kNamePrefix) || !comment.starts_with(kMarkPrefix) || comment.substr(kMarkPrefix.size()) != mark)
    return std::nullopt;
  return parse_key(name.substr(kNamePrefix.size()));
}

SlurmProgress progress_of(const SlurmEntry& entry, const SlurmNote& note) {
  if (has_ended(entry.state)) return SlurmProgress::kEnded;
  if (entry.state == RunState::kRunning || !entry.on_nodes.empty()) return SlurmProgress::kRuns;
  if (entry.held) return SlurmProgress::kBack;
  return note.restarts && entry.restarts > *note.restarts ? SlurmProgress::kTakenOff : SlurmProgress::kWaits;
}

Report end_of(const SlurmEntry& entry, const LaunchKey& key, Instant now) {
  Report report{.kind = ReportKind::kEnded, .key = key, .at = std::min(now, entry.ended.value_or(now)), .status = {}};
  constexpr int64_t kSignalBits = 0x7f;
  constexpr int64_t kCodes = 256;
  report.status.code = static_cast<int>(entry.exit_status / kCodes % kCodes);
  report.status.signal = static_cast<int>(entry.exit_status & kSignalBits);
  switch (entry.state) {
    case RunState::kCompleted: report.status = {}; break;
    case RunState::kTimeout:
      report.cause = EndCause::kTimeLimit;
      report.status = {.code = 0, .signal = SIGTERM};
      break;
    case RunState::kCancelled:
      report.cause = EndCause::kStopped;
      report.status = {.code = 0, .signal = SIGTERM};
      report.detail = "cancelled in Slurm";
      break;
    case RunState::kNodeFail:
    case RunState::kPreempted:
      report.kind = ReportKind::kLost;
      report.detail = entry.state == RunState::kNodeFail ? "its machine failed" : "Slurm preempted it";
      break;
    default:
      // Slurm says that it failed and not how: not to be taken for a success.
      if (report.status.code == 0 && report.status.signal == 0) report.status.code = 1;
      if (entry.reason == "OutOfMemory") report.cause = EndCause::kOutOfMemory;
      break;
  }
  return report;
}

}  // namespace stint
