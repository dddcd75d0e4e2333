// stint replay queue: a trace of jobs under one queue order, on pools of equal nodes.
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/text.h"
#include "cli/all_cores.h"
#include "cli/decide/job_trace_file.h"
#include "cli/decide/replay.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "codec/traces/job_csv.h"
#include "host/file.h"
#include "report/table.h"
#include "sched/place/node_table.h"
#include "sim/queue_replay.h"

namespace stint {
namespace {

struct QueueReplayOptions {
  std::string jobs;
  int32_t gpus_per_node = 8;
  std::string nodes = "auto";
  std::string policy = "stint";
  std::string durations = "given";
  bool one_queue = false;
  double restart_s = 60;
  int threads = 0;
  bool json = false;
  std::string output;
};

constexpr double kAutoFactor = 1.2;

/// One cluster: an independent pool.
struct Pool {
  std::string name;
  std::vector<TraceJob> jobs;
  int64_t nodes = 0;
  sim::PoolOutcome outcome;
};

struct ReplayedQueue {
  std::vector<Pool> pools;
  double seconds = 0;  // of replaying, reading not counted
};

/// A factor, or a file with the number of nodes per cluster.
Status set_nodes(std::vector<Pool>& pools, const QueueReplayOptions& options) {
  const std::optional<double> factor = options.nodes == "auto" ? kAutoFactor : parse_number(options.nodes);
  if (factor) {
    if (*factor <= 0) return invalid("--nodes-per-cluster {}: the factor must be above 0", options.nodes);
    for (Pool& pool : pools)
      pool.nodes = sim::nodes_for(pool.jobs, options.gpus_per_node, *factor);
    return {};
  }
  TRY_ASSIGN(const std::string text, read_all(options.nodes));
  TRY_ASSIGN(const auto given, read_cluster_nodes(text, options.nodes));
  for (Pool& pool : pools) {
    const auto found = given.find(pool.name);
    if (found == given.end()) return invalid("{}: no line for cluster '{}'", options.nodes, pool.name);
    const int64_t needed = sim::nodes_of_largest(pool.jobs, options.gpus_per_node);
    if (found->second < needed)
      return invalid("{}: cluster '{}' has {} nodes, its largest job needs {}", options.nodes, pool.name, found->second, needed);
    pool.nodes = found->second;
  }
  return {};
}

/// Pools are independent: one after the other on each core, the largest first.
void replay_all(std::vector<Pool>& pools, size_t users, const QueueReplayOptions& options, const sched::Policy& policy) {
  std::vector<Pool*> order;
  for (Pool& pool : pools)
    order.push_back(&pool);
  std::stable_sort(order.begin(), order.end(), [](const Pool* a, const Pool* b) { return a->jobs.size() > b->jobs.size(); });
  const auto replay_pool = [&](size_t i) {
    sim::QueueReplayOptions replay;
    replay.policy = policy;
    replay.gpus_per_node = options.gpus_per_node;
    replay.nodes = order[i]->nodes;
    replay.users_share = !options.one_queue;
    replay.restart = Duration::from_seconds(options.restart_s);
    order[i]->outcome = sim::replay_queue(order[i]->jobs, users, replay);
  };
  run_on_all_cores(order.size(), replay_pool, static_cast<size_t>(std::max(0, options.threads)));
}

Result<ReplayedQueue> replay(const QueueReplayOptions& options) {
  TRY_ASSIGN(const JobTraceFile file, read_job_trace(options.jobs, "csv"));
  for (const std::string& note : file.notes)
    tell("stint: {}\n", note);
  const JobTrace& trace = file.trace;
  ReplayedQueue replayed;
  replayed.pools.resize(trace.clusters.size());
  for (size_t c = 0; c < trace.clusters.size(); ++c)
    replayed.pools[c].name = trace.clusters[c];
  for (const TraceJob& job : trace.jobs)
    replayed.pools[job.cluster].jobs.push_back(job);
  TRY(set_nodes(replayed.pools, options));
  sched::Policy policy{.backfill = sched::Backfill::kNone};
  TRY_ASSIGN(policy.order, sched::parse_order(options.policy));
  if (options.durations == "learnt") {
    if (policy.order != sched::Order::kStint)
      return invalid("--durations learnt: only the policy stint goes by them; leave it out, or choose --policy stint");
    if (trace.users.empty() && trace.names.empty())
      return invalid("--durations learnt: {} has neither a user nor a name column to tell like jobs by", options.jobs);
    policy.durations = sched::Durations::kLearnt;
  }
  const auto begin = std::chrono::steady_clock::now();
  replay_all(replayed.pools, trace.users.size(), options, policy);
  replayed.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return replayed;
}

sim::QueueSummary overall(const std::vector<Pool>& pools) {
  std::vector<sim::QueuedJob> all;
  for (const Pool& pool : pools)
    all.insert(all.end(), pool.outcome.jobs.begin(), pool.outcome.jobs.end());
  return sim::summarise(all);
}

double jobs_per_second(const ReplayedQueue& replayed, int64_t jobs) {
  return replayed.seconds > 0 ? static_cast<double>(jobs) / replayed.seconds : 0;
}

std::string as_json(const ReplayedQueue& replayed, const QueueReplayOptions& options) {
  nlohmann::ordered_json clusters = nlohmann::ordered_json::array();
  for (const Pool& pool : replayed.pools) {
    const sim::QueueSummary s = sim::summarise(pool.outcome.jobs);
    clusters.push_back(
        {{"cluster", pool.name}, {"jobs", s.jobs}, {"completion_s_mean", s.completion_s_mean}, {"queue_s_mean", s.queue_s_mean}});
  }
  const sim::QueueSummary all = overall(replayed.pools);
  nlohmann::ordered_json json = {{"policy", options.policy},
                                 {"durations", options.durations},
                                 {"clusters", clusters},
                                 {"overall",
                                  {{"jobs", all.jobs},
                                   {"completion_s_mean", all.completion_s_mean},
                                   {"queue_s_mean", all.queue_s_mean},
                                   {"completion_s_p99", all.completion_s_p99},
                                   {"large_completion_s_mean", all.large_completion_s_mean},
                                   {"evictions", all.evictions}}},
                                 {"jobs_per_second", jobs_per_second(replayed, all.jobs)}};
  return json.dump(2) + "\n";
}

std::string as_text(const ReplayedQueue& replayed, const QueueReplayOptions& options) {
  Table table({{"cluster"},
               {"jobs", Align::kRight},
               {"nodes", Align::kRight},
               {"completion mean (s)", Align::kRight},
               {"completion p99 (s)", Align::kRight},
               {fmt::format("of {} GPUs up (s)", sim::kLargeGpus), Align::kRight},
               {"queue mean (s)", Align::kRight},
               {"evictions", Align::kRight}});
  const auto row = [&](const std::string& name, int64_t nodes, const sim::QueueSummary& s) {
    table.add_row({name, fmt::format("{}", s.jobs), fmt::format("{}", nodes), fmt::format("{:.0f}", s.completion_s_mean),
                   fmt::format("{:.0f}", s.completion_s_p99),
                   s.large_completion_s_mean > 0 ? fmt::format("{:.0f}", s.large_completion_s_mean) : "–",
                   fmt::format("{:.0f}", s.queue_s_mean), fmt::format("{}", s.evictions)});
  };
  int64_t nodes = 0;
  for (const Pool& pool : replayed.pools) {
    row(pool.name, pool.nodes, sim::summarise(pool.outcome.jobs));
    nodes += pool.nodes;
  }
  const sim::QueueSummary all = overall(replayed.pools);
  table.add_rule();
  row("all", nodes, all);
  std::string text =
      fmt::format("Policy {}{}, {} a node\n\n{}\n", options.policy, options.durations == "learnt" ? " with learnt durations" : "",
                  counted(options.gpus_per_node, "GPU"), table.render(screen_of_stdout()));
  if (options.nodes == "auto")
    text += wrapped(fmt::format("Nodes: enough for the largest job and {} times the mean demand between the first and the last "
                                "submission; --nodes-per-cluster says otherwise.",
                                kAutoFactor),
                    screen_of_stdout());
  if (all.evictions > 0 && options.policy != "srtf")
    text += wrapped(
        fmt::format("A job that was stopped keeps its work and holds its GPUs for {} s before it goes on.", options.restart_s),
        screen_of_stdout());
  return text + fmt::format("{:.0f} jobs replayed a second\n", jobs_per_second(replayed, all.jobs));
}

Status run_queue(const QueueReplayOptions& options) {
  TRY_ASSIGN(const ReplayedQueue replayed, replay(options));
  return write_output(options.output, options.json ? as_json(replayed, options) : as_text(replayed, options));
}

}  // namespace

void add_replay_queue_command(Command& replay, Action& action) {
  auto options = std::make_shared<QueueReplayOptions>();
  Command* command =
      replay.add_subcommand("queue", "A trace of jobs (timestamp,duration,num_gpus,cluster) under one queue order");
  command->add_option("--jobs", options->jobs, "CSV with the columns timestamp, duration, num_gpus, cluster; may be .gz")
      ->required();
  command->add_option("--gpus-per-node", options->gpus_per_node, "GPUs of every node")
      ->check(in_range(1, sched::kMaxGpusPerNode))
      ->capture_default_str();
  command
      ->add_option("--nodes-per-cluster", options->nodes,
                   "auto; a factor by which capacity exceeds mean demand; or a CSV file with the columns cluster, nodes")
      ->capture_default_str();
  command->add_option("--policy", options->policy, "who goes first")
      ->check(one_of({"fifo", "fifo-skip", "sjf-oracle", "srtf", "fair", "stint"}))
      ->capture_default_str();
  command
      ->add_option("--durations", options->durations,
                   "what stint knows of how long jobs run: given = nothing; learnt = what jobs took that ended before, by user, "
                   "name and size")
      ->check(one_of({"given", "learnt"}))
      ->capture_default_str();
  command->add_flag("--one-queue", options->one_queue, "users do not share: one queue for all of a cluster");
  command->add_option("--restart-seconds", options->restart_s, "GPU time lost when a stopped job starts again (srtf: none)")
      ->check(in_range(0.0, 86400.0))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "clusters replayed at once; 0 = as many as there are cores")
      ->check(in_range(0, 1024))
      ->capture_default_str();
  command->add_flag("--json", options->json, "as JSON");
  command->add_option("-o,--output", options->output, "write to this file");
  command->footer("Example: stint replay queue --jobs philly.csv.gz --policy stint --json");
  command->callback([options, &action] {
    action = [options] {
      const Status done = run_queue(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
