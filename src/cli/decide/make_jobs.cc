// stint replay make-jobs: a trace like those of large deep-learning clusters, from a seed.
#include <memory>

#include "cli/decide/replay.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "sim/job_trace.h"

namespace stint {
namespace {

struct MakeJobsOptions {
  sim::JobTraceOptions trace;
  std::string output;
  std::string nodes_output;
};

std::string jobs_csv(const JobTrace& trace) {
  std::string out = fmt::format("timestamp,duration,num_gpus,cluster{}{}\n", trace.users.empty() ? "" : ",user",
                                trace.names.empty() ? "" : ",name");
  for (const TraceJob& job : trace.jobs) {
    fmt::format_to(std::back_inserter(out), "{},{},{},{}", job.submitted.seconds(), job.duration.whole_seconds(), job.gpus,
                   trace.clusters[job.cluster]);
    if (!trace.users.empty()) fmt::format_to(std::back_inserter(out), ",{}", trace.users[job.user]);
    if (!trace.names.empty()) fmt::format_to(std::back_inserter(out), ",{}", trace.names[job.name]);
    out += '\n';
  }
  return out;
}

std::string nodes_csv(const JobTrace& trace, int64_t nodes) {
  std::string out = "cluster,nodes\n";
  for (const std::string& cluster : trace.clusters)
    out += fmt::format("{},{}\n", cluster, nodes);
  return out;
}

Status run_make_jobs(const MakeJobsOptions& options) {
  if (options.trace.kinds > 0 && options.trace.users == 0)
    return invalid("--kinds {}: kinds of jobs are those of users: say how many with --users", options.trace.kinds);
  const JobTrace trace = sim::make_job_trace(options.trace);
  if (!options.nodes_output.empty()) TRY(write_output(options.nodes_output, nodes_csv(trace, options.trace.nodes)));
  return write_output(options.output, jobs_csv(trace));
}

}  // namespace

void add_make_jobs_command(Command& replay, Action& action) {
  auto options = std::make_shared<MakeJobsOptions>();
  sim::JobTraceOptions& trace = options->trace;
  Command* command = replay.add_subcommand("make-jobs", "Makes a trace of jobs for `stint replay queue`, from a seed");
  command->add_option("--seed", trace.seed, "same seed, same trace")->capture_default_str();
  command->add_option("--jobs", trace.jobs, "how many")->check(in_range(1, 100'000'000))->capture_default_str();
  command->add_option("--clusters", trace.clusters, "independent pools")->check(in_range(1, 1000))->capture_default_str();
  command->add_option("--nodes", trace.nodes, "nodes of each cluster")->check(in_range(1, 100'000))->capture_default_str();
  command->add_option("--gpus-per-node", trace.gpus_per_node, "of every cluster")->check(in_range(1, 16))->capture_default_str();
  command->add_option("--load", trace.load, "GPU time asked for, as a part of what there is")
      ->check(in_range(0.01, 10.0))
      ->capture_default_str();
  command->add_option("--max-gpus", trace.max_gpus, "of one job")->check(in_range(1, 128))->capture_default_str();
  command->add_option("--users", trace.users, "users of each cluster; 0 = no user column")
      ->check(in_range(0, 100'000))
      ->capture_default_str();
  command
      ->add_option("--kinds", trace.kinds,
                   "kinds of jobs that each user runs again and again, under a name (then there is a name column); 0 = none")
      ->check(in_range(0, 1000))
      ->capture_default_str();
  command->add_option("--nodes-output", options->nodes_output,
                      "write the nodes of each cluster to this file, for --nodes-per-cluster");
  command->add_option("-o,--output", options->output, "write to this file");
  command->footer("Example: stint replay make-jobs --seed 7 --load 0.95 -o jobs.csv --nodes-output nodes.csv");
  command->callback([options, &action] {
    action = [options] {
      const Status done = run_make_jobs(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
