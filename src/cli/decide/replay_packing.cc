// stint replay packing: how much of a fleet's GPUs a placement policy fills, on the protocol of FGD's evaluation.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cli/all_cores.h"
#include "cli/decide/replay.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "codec/traces/openb.h"
#include "host/file.h"
#include "report/table.h"
#include "sim/packing_replay.h"

namespace stint {
namespace {

struct PackingOptions {
  std::string nodes;
  std::string pods;
  std::string arrivals;
  std::string policy;
  std::optional<int64_t> line;
  std::optional<uint64_t> only;
  int threads = 0;
  bool json = false;
};

struct ReplayedOrder {
  uint64_t seed = 0;
  sim::PackingResult result;
  double seconds = 0;
};

Result<std::vector<PodArrivals>> read_arrivals(const PackingOptions& options, size_t pods) {
  TRY_ASSIGN(const std::string text, read_all(options.arrivals));
  TRY_ASSIGN(std::vector<PodArrivals> orders, read_openb_arrivals(text, pods, options.arrivals));
  if (options.line) {
    if (*options.line < 1 || static_cast<size_t>(*options.line) > orders.size())
      return invalid("--seed-line {}: {} has lines 1 to {}", *options.line, options.arrivals, orders.size());
    return std::vector{std::move(orders[static_cast<size_t>(*options.line) - 1])};
  }
  if (options.only) {
    std::erase_if(orders, [&](const PodArrivals& a) { return a.seed != *options.only; });
    if (orders.empty()) return invalid("--only {}: {} has no line with that seed", *options.only, options.arrivals);
  }
  return orders;
}

/// Orders are independent: one after the other on each core.
std::vector<ReplayedOrder> replay_all(const sim::PackingTrace& trace, const std::vector<PodArrivals>& orders,
                                      const PackingOptions& options, sched::Placement policy) {
  std::vector<ReplayedOrder> results(orders.size());
  std::mutex drawing;
  ProgressLine progress("packing");
  int64_t done = 0;  // guarded by `drawing`
  const auto replay_order = [&](size_t i) {
    const auto begin = std::chrono::steady_clock::now();
    results[i].seed = orders[i].seed;
    results[i].result = sim::replay_packing(trace, orders[i].pods, policy, orders[i].seed);
    results[i].seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const std::lock_guard lock(drawing);
    progress.show(++done, static_cast<int64_t>(orders.size()));
  };
  run_on_all_cores(orders.size(), replay_order, static_cast<size_t>(std::max(0, options.threads)));
  return results;
}

/// nullopt when some order does not ask for that much.
std::optional<double> mean_at_130(const std::vector<ReplayedOrder>& all) {
  double sum = 0;
  for (const ReplayedOrder& r : all) {
    if (!r.result.allocated_pct_130) return std::nullopt;
    sum += *r.result.allocated_pct_130;
  }
  return sum / static_cast<double>(all.size());
}

nlohmann::ordered_json json_of(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

std::string as_json(const std::vector<ReplayedOrder>& all, const PackingOptions& options) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const ReplayedOrder& r : all)
    results.push_back({{"seed", r.seed},
                       {"pods", r.result.pods},
                       {"placed", r.result.placed},
                       {"failed", r.result.failed},
                       {"allocated_pct_100", json_of(r.result.allocated_pct_100)},
                       {"allocated_pct_120", json_of(r.result.allocated_pct_120)},
                       {"allocated_pct_130", json_of(r.result.allocated_pct_130)},
                       {"fragmentation_pct_of_idle_130", r.result.fragmentation_pct_of_idle},
                       {"seconds", r.seconds}});
  const nlohmann::ordered_json json = {
      {"policy", options.policy}, {"results", results}, {"mean_allocated_pct_130", json_of(mean_at_130(all))}};
  return json.dump(2) + "\n";
}

std::string percent(const std::optional<double>& value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

std::string as_text(const std::vector<ReplayedOrder>& all, const PackingOptions& options) {
  Table table({{"seed", Align::kRight},
               {"pods", Align::kRight},
               {"placed", Align::kRight},
               {"dropped", Align::kRight},
               {"allocated at 100 % (%)", Align::kRight},
               {"at 120 %", Align::kRight},
               {"at 130 %", Align::kRight},
               {"fragments (% of idle)", Align::kRight},
               {"pods/s", Align::kRight}});
  for (const ReplayedOrder& r : all)
    table.add_row({fmt::format("{}", r.seed), fmt::format("{}", r.result.pods), fmt::format("{}", r.result.placed),
                   fmt::format("{}", r.result.failed), percent(r.result.allocated_pct_100), percent(r.result.allocated_pct_120),
                   percent(r.result.allocated_pct_130), fmt::format("{:.1f}", r.result.fragmentation_pct_of_idle),
                   fmt::format("{:.0f}", r.seconds > 0 ? static_cast<double>(r.result.pods) / r.seconds : 0)});
  return fmt::format("Policy {}\n\n{}\nMean allocated at 130 % of the GPUs asked for: {} %\n", options.policy,
                     table.render(screen_of_stdout()), percent(mean_at_130(all)));
}

Status run_packing(const PackingOptions& options) {
  TRY_ASSIGN(const sched::Placement policy, sched::parse_placement(options.policy));
  TRY_ASSIGN(const std::string nodes_text, read_all(options.nodes));
  TRY_ASSIGN(const std::vector<PodTraceNode> nodes, read_openb_nodes(nodes_text, options.nodes));
  TRY_ASSIGN(const std::string pods_text, read_all(options.pods));
  TRY_ASSIGN(const std::vector<PodTracePod> pods, read_openb_pods(pods_text, options.pods));
  TRY_ASSIGN(const std::vector<PodArrivals> orders, read_arrivals(options, pods.size()));
  Result<sim::PackingTrace> trace = sim::PackingTrace::create(nodes, pods);
  if (!trace.ok()) return invalid("{}: {}", options.nodes, trace.error().message);
  const std::vector<ReplayedOrder> all = replay_all(*trace, orders, options, policy);
  return write_output("", options.json ? as_json(all, options) : as_text(all, options));
}

}  // namespace

void add_replay_packing_command(Command& replay, Action& action) {
  auto options = std::make_shared<PackingOptions>();
  Command* command = replay.add_subcommand("packing", "Pods arrive and never leave: how much of the GPUs does a policy fill?");
  command->add_option("--nodes", options->nodes, "openb node list (CSV, may be .gz)")->required();
  command->add_option("--pods", options->pods, "openb pod list (CSV, may be .gz)")->required();
  command->add_option("--arrivals", options->arrivals, "a line per order: seed, then numbers of pods from 0 (may be .gz)")
      ->required();
  command->add_option("--policy", options->policy, "which node")
      ->required()
      ->check(one_of({"first-fit", "best-fit", "spread", "dot-product", "packing", "clustering", "random", "fgd", "stint"}));
  Option* line = command->add_option("--seed-line", options->line, "only this line of the arrivals, counted from 1");
  command->add_option("--only", options->only, "only the line with this seed")->excludes(line);
  command->add_option("--threads", options->threads, "orders replayed at a time; 0 = as many as there are cores");
  command->add_flag("--json", options->json, "as JSON");
  command->footer("Example: stint replay packing --nodes nodes.csv --pods pods.csv --arrivals arrivals.txt --policy fgd");
  command->callback([options, &action] {
    action = [options] {
      const Status done = run_packing(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
