#include "codec/slurm/slurm_job.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/slurm/hostlist.h"
#include "codec/slurm/tres.h"

namespace stint {
namespace {

constexpr int64_t kMostGpusOfANode = 4096;

struct StateName {
  std::string_view name;
  RunState state;
};
constexpr std::array<StateName, 23> kStates = {{
    {"PENDING", RunState::kPending},      {"CONFIGURING", RunState::kPending},  {"REQUEUE_FED", RunState::kPending},
    {"REQUEUE_HOLD", RunState::kPending}, {"SPECIAL_EXIT", RunState::kPending}, {"RUNNING", RunState::kRunning},
    {"COMPLETING", RunState::kRunning},   {"SIGNALING", RunState::kRunning},    {"STAGE_OUT", RunState::kRunning},
    {"STOPPED", RunState::kRunning},      {"SUSPENDED", RunState::kRunning},    {"RESIZING", RunState::kRunning},
    {"COMPLETED", RunState::kCompleted},  {"FAILED", RunState::kFailed},        {"OUT_OF_MEMORY", RunState::kFailed},
    {"CANCELLED", RunState::kCancelled},  {"REVOKED", RunState::kCancelled},    {"TIMEOUT", RunState::kTimeout},
    {"DEADLINE", RunState::kTimeout},     {"PREEMPTED", RunState::kPreempted},  {"REQUEUED", RunState::kPreempted},
    {"NODE_FAIL", RunState::kNodeFail},   {"BOOT_FAIL", RunState::kNodeFail},
}};

/// The nodes of a job, with its GPUs split evenly over them; the first ones take the remainder.
Result<std::vector<RunAllocation>> spread(std::string_view nodes, int64_t gpus) {
  const auto names = expand_hostlist(nodes);
  if (!names.ok()) return invalid("NodeList: {}", names.error().message);
  const auto count = static_cast<int64_t>(names->size());
  std::vector<RunAllocation> out;
  for (int64_t i = 0; i < count; ++i)
    out.push_back({.node = names.value()[static_cast<size_t>(i)],
                   .gpu_indexes = {},
                   .gpu_count = gpus / count + (i < gpus % count ? 1 : 0)});
  return out;
}

/// Puts the GPUs told node by node in place of the even split.
Status place(const SlurmJob& job, std::vector<RunAllocation>& allocations) {
  for (const auto& [nodes, text] : job.gres) {
    TRY_ASSIGN(const auto names, expand_hostlist(nodes));
    TRY_ASSIGN(const auto gres, parse_slurm_gres(text));
    for (const std::string& name : names) {
      const auto at = std::ranges::find(allocations, name, &RunAllocation::node);
      if (at == allocations.end()) return invalid("GRES: on {}, which is none of the job's nodes", excerpt(name));
      at->gpu_count = 0;
      at->gpu_indexes.clear();
      for (const SlurmGres& entry : gres) {
        if (entry.name != "gpu") continue;
        at->gpu_count += entry.count;
        at->gpu_indexes.insert(at->gpu_indexes.end(), entry.indexes.begin(), entry.indexes.end());
      }
    }
  }
  return {};
}

/// `0-2,5` → 0 1 2 5.
Result<std::vector<int>> parse_indexes(std::string_view text) {
  std::vector<int> out;
  if (is_absent_in_slurm(text)) return out;
  for (const std::string_view part : split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostGpusOfANode)
      return invalid("'{}' are no indexes such as 0-2,5", excerpt(text));
    for (int64_t i = *first; i <= *last; ++i)
      out.push_back(static_cast<int>(i));
    if (out.size() > static_cast<size_t>(kMostGpusOfANode)) return invalid("'{}': too many indexes", excerpt(text));
  }
  return out;
}

/// `gpu:h200:2` with what stood in its parentheses.
Result<SlurmGres> parse_entry(std::string_view entry, std::string_view inside) {
  SlurmGres out;
  if (entry.starts_with("gres:") || entry.starts_with("gres/")) entry.remove_prefix(5);
  const std::vector<std::string_view> parts = split(entry, ':');
  out.name = parts[0];
  out.count = 1;
  if (parts.size() > 1) {
    const auto count = parse_int(parts.back());
    if (count && *count >= 0 && *count <= INT32_MAX) out.count = *count;
    if (!count || parts.size() > 2) out.type = parts[1];
    if (!count && (parts.size() > 2 || parts[1].empty()) && out.name == "gpu")
      return invalid("'{}' is no gres such as gpu:h200:8", excerpt(entry));
  }
  if (out.name == "gpu" && out.count > kMostGpusOfANode) return invalid("'{}': more GPUs than a node can have", excerpt(entry));
  if (inside.starts_with("IDX:")) {
    TRY_ASSIGN(out.indexes, parse_indexes(inside.substr(4)));
  }
  return out;
}

}  // namespace

Result<RunState> parse_slurm_state(std::string_view text) {
  std::string_view word = text.substr(0, text.find(' '));
  if (word.ends_with('+')) word.remove_suffix(1);
  for (const StateName& known : kStates)
    if (known.name == word) return known.state;
  return invalid("State: '{}' is no job state of Slurm", excerpt(text));
}

bool has_ended(RunState state) {
  return state != RunState::kRunning && state != RunState::kPending && state != RunState::kUnknown;
}

bool is_absent_in_slurm(std::string_view text) {
  for (const std::string_view word : {"", "Unknown", "None", "N/A", "(null)", "None assigned"})
    if (equals_ignoring_case(text, word)) return true;
  return false;
}

std::vector<std::string> sacct_arguments(Interval window) {
  constexpr std::string_view kColumns =
      "JobID,JobIDRaw,User,Account,Partition,QOS,State,Submit,Eligible,Start,End,Elapsed,Timelimit,ReqTRES,AllocTRES,ReqMem,"
      "NodeList,Reason,JobName";
  // All there are. Without, a window leaves out what Slurm recorded no eligible time of, as 22.05 does at times under multifactor priorities.
  constexpr std::string_view kEveryState = "BF,CA,CD,DL,F,NF,OOM,PD,PR,R,RQ,RS,RV,S,TO";
  const auto time = [](Instant at) { return format_utc(at).substr(0, 19); };
  return {"-P",
          "-a",
          "-X",
          "-D",
          "-S",
          time(window.begin),
          "-E",
          time(window.end),
          "-s",
          std::string(kEveryState),
          fmt::format("--format={}", kColumns)};
}

Result<std::vector<SlurmGres>> parse_slurm_gres(std::string_view text) {
  std::vector<SlurmGres> out;
  text = trim(text);
  if (is_absent_in_slurm(text)) return out;
  while (!text.empty()) {
    const size_t end = text.find_first_of(",(");
    const std::string_view entry = trim(text.substr(0, end));
    std::string_view inside;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
    if (text.starts_with('(')) {
      const size_t close = text.find(')');
      if (close == std::string_view::npos) return invalid("'{}': a parenthesis is not closed", excerpt(entry));
      inside = text.substr(1, close - 1);
      text.remove_prefix(close + 1);
    }
    if (text.starts_with(',')) text.remove_prefix(1);
    if (entry.empty()) continue;
    TRY_ASSIGN(SlurmGres gres, parse_entry(entry, inside));
    out.push_back(std::move(gres));
  }
  return out;
}

Result<Run> run_of(const SlurmJob& job, std::optional<Instant> asked_at) {
  if (job.id.empty() || job.id.front() < '0' || job.id.front() > '9') return invalid("JobID: '{}' is no job id", excerpt(job.id));
  Run run;
  run.id = job.id;
  run.restart = job.restarts;
  run.name = job.name;
  run.holder.job = job.raw_id.empty() ? job.id : job.raw_id;
  run.holder.user = job.user;
  run.holder.account = job.account;
  for (const std::string* text : {&job.name, &job.comment, &job.partition, &job.qos})
    if (run.kind == WorkloadKind::kUnknown) run.kind = guess_workload_kind(*text);
  TRY_ASSIGN(run.state, parse_slurm_state(job.state));
  run.submitted = job.submitted;
  run.started = job.started;
  run.ended = job.ended;
  if (run.started && run.ended && *run.ended < *run.started)
    return invalid("End: {} is before Start {}", format_utc(*run.ended), format_utc(*run.started));
  if (run.state == RunState::kRunning && run.started && !run.ended && asked_at) run.ended = std::max(*run.started, *asked_at);
  run.time_limit = job.time_limit;
  const auto allocated = parse_tres(job.allocated);
  if (!allocated.ok()) return invalid("AllocTRES: {}", allocated.error().message);
  const auto requested = parse_tres(job.requested);
  if (!requested.ok()) return invalid("ReqTRES: {}", requested.error().message);
  const Tres& held = job.allocated.empty() ? requested.value() : allocated.value();
  run.gpus_requested = requested->gpus > 0 ? requested->gpus : allocated->gpus;
  run.cpus = held.cpus;
  run.memory = held.memory;
  run.share = held.mig;
  if (is_absent_in_slurm(job.nodes) || !run.started) return run;
  TRY_ASSIGN(run.allocations, spread(job.nodes, held.gpus));
  TRY(place(job, run.allocations));
  return run;
}

QueueRecord queue_record_of(const SlurmJob& job, const Run& run) {
  const bool ordinary = is_absent_in_slurm(job.reason) || job.reason == "Priority" || job.reason == "Resources";
  return {.run_id = run.id,
          .restart = run.restart,
          .partition = job.partition,
          .qos = job.qos,
          .reason = ordinary ? "" : job.reason,
          .eligible = job.eligible};
}

}  // namespace stint
