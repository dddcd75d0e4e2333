#include "cli/decide/proof_runs.h"

#include <mutex>

#include "cli/all_cores.h"
#include "cli/parser.h"

namespace stint {

void add_proof_options(Command& command, ProofRunOptions& options) {
  command.add_option("--policy", options.policy, "the scheduler that runs the jobs again (default: " + options.policy + ")");
  command.add_option("--seeds", options.seeds, "drawings of spot interruptions (default: 5)")->check(in_range(1, 1000));
  command.add_option("--seed", options.seed, "for what is drawn by chance (default: 42)");
  command
      .add_option("--max-slowdown", options.most_longer_pct,
                  "a change after which jobs take that much longer, in percent from submission to end, or p99 of a service of "
                  "which nothing is "
                  "promised grows by more, does not survive (default: 25 of jobs, 0 of services)")
      ->check(in_range(0.0, 10'000.0));
}

ProofRuns::ProofRuns(const ProofRunOptions& options) : asked_(options), progress_("replays") {}

ProofOptions ProofRuns::options() {
  auto drawing = std::make_shared<std::mutex>();
  ProofOptions out;
  out.policy = asked_.policy;
  out.seeds = asked_.seeds;
  out.seed = asked_.seed;
  out.most_longer_pct = asked_.most_longer_pct.value_or(out.most_longer_pct);
  out.run = [](size_t count, const std::function<void(size_t)>& task) { run_on_all_cores(count, task); };
  out.replayed = [this, drawing] {
    const int64_t done = ++replays_;
    const std::lock_guard lock(*drawing);
    progress_.show(done, 0);
  };
  return out;
}

}  // namespace stint
