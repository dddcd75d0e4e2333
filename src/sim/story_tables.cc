// Formats: Slurm's sacct(1), "Job accounting fields" and hostlist expressions; docs/formats.md for the two CSV tables.
#include "sim/story_tables.h"

#include <algorithm>

#include "base/check.h"
#include "sim/story_text.h"

namespace stint {
namespace {

/// `2026-10-01T08:05:00`
std::string slurm_time(Instant t) { return format_utc(t).substr(0, 19); }

/// `1-02:03:04`, days only when there are any.
std::string slurm_duration(Duration d) {
  const int64_t s = d.whole_seconds();
  const int64_t days = s / 86400;
  return fmt::format("{}{:02}:{:02}:{:02}", days > 0 ? fmt::format("{}-", days) : "", s / 3600 % 24, s / 60 % 60, s % 60);
}

std::string_view slurm_state(RunState state) {
  CHECK(state == RunState::kCompleted || state == RunState::kTimeout, "a story's job ends as {}", name_of(state));
  return state == RunState::kCompleted ? "COMPLETED" : "TIMEOUT";
}

/// `train-[1-2]`: Slurm's short form of names that differ in a running number.
std::string hostlist(const std::vector<RunAllocation>& allocations) {
  const std::string& first = allocations.front().node;
  if (allocations.size() == 1) return first;
  const size_t number = first.rfind('-') + 1;
  return fmt::format("{}[{}-{}]", first.substr(0, number), first.substr(number), allocations.back().node.substr(number));
}

const StoryNode& node_named(const Story& story, std::string_view name) {
  return *std::ranges::find_if(story.nodes, [&](const StoryNode& n) { return n.node.name == name; });
}

/// `billing=…,cpu=48,gres/gpu:a100=4,gres/gpu=4,mem=576G,node=1`
std::string tres_of(const Run& run, std::string_view gpu_type, std::string_view memory_suffix) {
  const int64_t gibi = run.memory.count() >> 30;
  return fmt::format("billing={},cpu={},gres/gpu:{}={},gres/gpu={},mem={}G{},node={}", run.cpus, run.cpus, gpu_type,
                     run.gpus_requested, run.gpus_requested, gibi, memory_suffix, run.allocations.size());
}

}  // namespace

void write_sacct(const Story& story, const TextOut& out) {
  std::vector<const Run*> runs;
  for (const Run& run : story.runs)
    runs.push_back(&run);
  std::ranges::sort(runs, {}, [](const Run* r) { return std::stoi(r->id); });
  StoryText text(out);
  text.add("JobID|JobName|User|Account|Partition|State|Submit|Start|End|Elapsed|Timelimit|ReqTRES|AllocTRES|NodeList|ExitCode\n");
  for (const Run* run : runs) {
    const std::string gpu = node_named(story, run->allocations.front().node).node.gpu_model.starts_with("A100") ? "a100" : "v100";
    const std::string begin = slurm_time(*run->started), end = slurm_time(*run->ended);
    const std::string elapsed = slurm_duration(*run->ended - *run->started);
    const std::string nodes = hostlist(run->allocations), tres = tres_of(*run, gpu, "");
    const std::string_view state = slurm_state(run->state);
    text.add("{}|{}|{}|{}|gpu|{}|{}|{}|{}|{}|{}|{}|{}|{}|0:0\n", run->id, run->name, run->holder.user, run->holder.account, state,
             slurm_time(*run->submitted), begin, end, elapsed, slurm_duration(*run->time_limit), tres, tres, nodes);
    // The batch step repeats the job's allocation: it must not count a second time.
    text.add("{}.batch|batch||{}||{}|{}|{}|{}|{}|||{}|{}|0:0\n", run->id, run->holder.account,
             state == "TIMEOUT" ? "CANCELLED" : state, begin, begin, end, elapsed, tres, nodes);
  }
}

void write_inventory(const Story& story, const TextOut& out) {
  StoryText text(out);
  text.add(
      "node,resource_id,provider,region,zone,instance_type,market,gpu_model,gpu_count,vcpus,memory_gib,rate_per_hour,currency,"
      "kind,"
      "checkpointable,client,project,team,environment,workload,from,until\n");
  for (const StoryNode& made : story.nodes) {
    const Node& n = made.node;
    text.add("{},{},{},{},{},{},{},{},{},{},{},{},USD,", n.name, n.resource_id, n.provider, n.region, n.zone, n.instance_type,
             name_of(n.market), n.gpu_model, n.gpu_count, n.vcpus, n.memory.count() >> 30, n.rate->per_hour().to_decimal());
    // `from` and `until` stay empty: machines that come and go within the month are known by their bill lines.
    text.add("{},{},{},{},{},{},{},,\n", n.kind == WorkloadKind::kUnknown ? "" : name_of(n.kind),
             !n.checkpointable   ? ""
             : *n.checkpointable ? "true"
                                 : "false",
             n.tenant.client, n.tenant.project, n.tenant.team, n.tenant.environment, n.tenant.workload);
  }
}

void write_tenants(const Story& story, const TextOut& out) {
  StoryText text(out);
  text.add("pattern,client,project,team,environment,workload\n");
  for (const TenantRule& rule : story.rules)
    text.add("{},{},{},{},{},{}\n", csv_field(rule.pattern), rule.tenant.client, rule.tenant.project, rule.tenant.team,
             rule.tenant.environment, rule.tenant.workload);
}

}  // namespace stint
