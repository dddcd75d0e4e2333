// stint replay --history, --jobs or --workload: recorded jobs once more, under one policy or several, on their own machines or others.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "catalog/catalog.h"
#include "cli/accounts.h"
#include "cli/job_trace_file.h"
#include "cli/output.h"
#include "cli/period_options.h"
#include "cli/progress.h"
#include "cli/replay.h"
#include "codec/workload_file.h"
#include "host/file.h"
#include "report/replay_view.h"
#include "sched/policy_text.h"
#include "sched/scheduler.h"
#include "sim/apply_change.h"
#include "sim/fleet_text.h"
#include "sim/history_workload.h"
#include "sim/replay.h"
#include "sim/trace_workload.h"

namespace stint {
namespace {

struct HistoryReplayOptions {
  std::string history;
  std::string jobs;
  std::string workload;
  std::string write_workload;
  std::vector<std::string> changes;
  std::string fleet;
  PeriodOptions period;
  std::vector<std::string> policies;
  uint64_t seed = 42;
  bool json = false;
  std::string html;
};

/// Counts what has ended, for the progress line.
class Counter : public sim::Watcher {
 public:
  explicit Counter(std::atomic<int64_t>& finished) : finished_(finished) {}
  bool saw(Instant, std::span<const sched::Event> events, std::span<const sched::Decision>) override {
    for (const sched::Event& event : events)
      if (event.kind == sched::EventKind::kFinished) finished_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

 private:
  std::atomic<int64_t>& finished_;
};

/// What the scheduler may know: true durations only under the orders that are allowed to.
sim::Workload as_known_to(const sched::Policy& policy, sim::Workload workload) {
  const bool oracle = policy.order == sched::Order::kSjfOracle || policy.order == sched::Order::kSrtf;
  for (sim::SimJob& job : workload.jobs)
    job.spec.expected = oracle ? job.run_time : sched::kUnlimited;
  return workload;
}

ReplayRun replay_one(const sched::Policy& policy, const sim::Workload& workload, std::atomic<int64_t>& finished) {
  const auto begin = std::chrono::steady_clock::now();
  const sim::Workload known = as_known_to(policy, workload);
  sched::Scheduler scheduler(policy);
  Counter counter(finished);
  std::array<sim::Watcher*, 1> watchers = {&counter};
  ReplayRun run{.policy = sched::to_text(policy), .change = "", .result = {}, .seconds = 0};
  run.result = sim::replay(scheduler, known, {}, watchers);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

/// Replays are independent: as many at a time as there are cores, progress on the terminal meanwhile.
std::vector<ReplayRun> replay_all(const std::vector<sched::Policy>& policies, const sim::Workload& workload) {
  std::vector<ReplayRun> runs(policies.size());
  std::atomic<size_t> next = 0;
  std::atomic<size_t> done = 0;
  std::atomic<int64_t> finished = 0;
  std::vector<std::jthread> threads;
  for (size_t t = 0; t < std::min<size_t>(policies.size(), std::max(1U, std::thread::hardware_concurrency())); ++t)
    threads.emplace_back([&] {
      for (size_t i = next++; i < policies.size(); i = next++) {
        runs[i] = replay_one(policies[i], workload, finished);
        ++done;
      }
    });
  ProgressLine progress("replaying jobs");
  while (done < policies.size()) {
    progress.show(finished, static_cast<int64_t>(workload.jobs.size() * policies.size()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return runs;
}

Result<std::vector<sched::Policy>> parse_policies(const HistoryReplayOptions& options) {
  std::vector<sched::Policy> policies;
  for (const std::string& text : options.policies) {
    TRY_ASSIGN(sched::Policy policy, sched::parse_policy(text));
    policy.seed = options.seed;
    policies.push_back(policy);
  }
  return policies;
}

/// What will be replayed, and what is to be said about it.
struct Input {
  sim::Workload workload;
  std::string source;
  std::vector<std::string> notes;
  Catalog catalog = Catalog::built_in();  ///< with the History's own prices, where it has any
};

ReplayView view_of(const sim::Workload& workload, const HistoryReplayOptions& options) {
  ReplayView view;
  view.seed = options.seed;
  view.jobs = static_cast<int64_t>(workload.jobs.size());
  view.nodes = static_cast<int64_t>(workload.nodes.size());
  for (const sim::SimNode& node : workload.nodes) {
    view.gpus += node.node.gpus;
    view.node_names.push_back(node.node.name);
    view.node_gpus.push_back(node.node.gpus);
  }
  for (const sim::SimJob& job : workload.jobs)
    view.job_names.push_back(job.name);
  return view;
}

std::vector<std::string> notes_of(const sim::HistoryWorkload& made) {
  std::vector<std::string> notes;
  for (const auto& [reason, count] : made.left_out)
    notes.push_back(fmt::format("left out: {} {}", count, reason));
  if (made.nodes_without_price > 0)
    notes.push_back(
        fmt::format("{} nodes have no known price and count as free: the money is too low", made.nodes_without_price));
  notes.emplace_back("work that only telemetry shows has no submission and no length: it is not replayed");
  notes.emplace_back(
      "assumed: jobs that can save do so every hour (1 min), restarting takes 5 min; serving and notebooks are not preempted");
  return notes;
}

/// The same jobs on other machines; nothing when no fleet is named.
Status move_to_fleet(Input& input, const std::string& fleet) {
  if (fleet.empty()) return {};
  TRY_ASSIGN(input.workload.nodes, sim::parse_fleet(fleet, input.catalog));
  // On another fleet the model a job once ran on is no condition.
  for (sched::Request& request : input.workload.requests)
    request.gpu_models.clear();
  if (!input.workload.outages.empty()) {
    input.notes.push_back(fmt::format("left out: {} outages of the machines that were there", input.workload.outages.size()));
    input.workload.outages.clear();
  }
  input.workload.prices.clear();
  input.source += ", on " + fleet;
  input.notes.emplace_back("jobs run as long on the other fleet as they did: differences in speed are not counted");
  return {};
}

Result<Input> input_from_history(const HistoryReplayOptions& options) {
  TRY_ASSIGN(const Interval period, parse_period(options.period));
  TRY_ASSIGN(const Records records, load_records(options.history, period));
  const auto price_of = [&](const Node& node) -> std::optional<Rate> {
    const Market market = node.market == Market::kUnknown ? Market::kOnDemand : node.market;
    const Result<PriceRow> price = records.catalog.price(
        {.provider = node.provider, .instance_type = node.instance_type, .region = node.region, .market = market});
    if (!price.ok()) return std::nullopt;
    return price->rate;
  };
  TRY_ASSIGN(sim::HistoryWorkload made, sim::workload_of(records.history, price_of));
  Input input{.workload = std::move(made.workload), .source = "", .notes = notes_of(made)};
  input.source = fmt::format("{}, {} to {}", options.history, format_date(records.history.period.begin),
                             format_date(records.history.period.end));
  input.catalog = records.catalog;
  TRY(move_to_fleet(input, options.fleet));
  return input;
}

Result<Input> input_from_trace(const HistoryReplayOptions& options) {
  if (options.fleet.empty()) return invalid("--jobs needs --fleet: the trace names no machines (say --fleet 16x8)");
  TRY_ASSIGN(const JobTrace trace, read_job_trace(options.jobs));
  TRY_ASSIGN(std::vector<sim::SimNode> fleet, sim::parse_fleet(options.fleet, Catalog::built_in()));
  TRY_ASSIGN(sim::Workload workload, sim::workload_of(trace, std::move(fleet)));
  Input input{.workload = std::move(workload), .source = options.jobs + ", on " + options.fleet, .notes = {}};
  input.notes.emplace_back("assumed: jobs save every hour and when told to leave (1 min), and take 5 min to restart");
  return input;
}

Result<Input> input_from_workload(const HistoryReplayOptions& options) {
  TRY_ASSIGN(InputFile file, InputFile::open(options.workload));
  WorkloadReader reader(options.workload);
  while (true) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) break;
    TRY(reader.feed(piece));
  }
  Input input{.workload = {}, .source = options.workload, .notes = {}};
  TRY_ASSIGN(input.workload, reader.finish());
  TRY(move_to_fleet(input, options.fleet));
  return input;
}

Result<Input> read_input(const HistoryReplayOptions& options) {
  if (!options.workload.empty()) return input_from_workload(options);
  return options.history.empty() ? input_from_trace(options) : input_from_history(options);
}

Status apply_changes(Input& input, const HistoryReplayOptions& options) {
  for (const std::string& text : options.changes) {
    TRY_ASSIGN(const Change change, sim::parse_change(text));
    TRY(sim::apply_change(input.workload, change, input.catalog));
    input.notes.push_back("changed: " + describe(change));
    const auto* market = std::get_if<SwitchMarket>(&change);
    if (market != nullptr && market->to == Market::kSpot)
      input.notes.emplace_back("no spot interruptions are made up: on the spot market more work would be lost than shown");
  }
  return {};
}

Result<ReplayView> replay_input(const HistoryReplayOptions& options) {
  TRY_ASSIGN(const std::vector<sched::Policy> policies, parse_policies(options));
  TRY_ASSIGN(Input input, read_input(options));
  TRY(apply_changes(input, options));
  TRY(sim::check_workload(input.workload));
  if (!options.write_workload.empty()) {
    TRY_ASSIGN(const std::string text, write_workload(input.workload));
    TRY(write_file_atomically(options.write_workload, text));
    fmt::print(stderr, "wrote {}\n", options.write_workload);
  }
  ReplayView view = view_of(input.workload, options);
  view.source = input.source;
  view.notes = input.notes;
  view.runs = replay_all(policies, input.workload);
  return view;
}

Status print_replay(const HistoryReplayOptions& options) {
  TRY_ASSIGN(const ReplayView view, replay_input(options));
  if (!options.html.empty()) {
    TRY(write_file_atomically(options.html, replay_html(view)));
    fmt::print(stderr, "wrote {}\n", options.html);
  }
  return write_output("", options.json ? replay_json(view) : replay_text(view, colour_of_stdout()));
}

}  // namespace

void add_replay_history_options(CLI::App& replay, Action& action) {
  auto options = std::make_shared<HistoryReplayOptions>();
  options->policies = {"fifo", "stint"};
  replay.footer("Example: stint replay --history fleet.db --policy fifo --policy stint:backfill=conservative --html replay.html");
  replay.add_option("--history", options->history, "the History file whose jobs are run again");
  replay.add_option("--jobs", options->jobs, "a job trace instead (CSV: timestamp,duration,num_gpus,cluster)");
  replay.add_option("--workload", options->workload, "a plain workload file instead (docs/formats.md; examples/workload.csv)");
  replay.add_option("--write-workload", options->write_workload, "also write what is replayed as such a file");
  replay.add_option("--fleet", options->fleet,
                    "other machines: COUNTxTYPE[@REGION][:MARKET], separated by commas; a number as the type is so many GPUs");
  replay.add_option("--change", options->changes,
                    "what is changed before, repeated: stop:NODES, schedule-off:NODES=20-7[+weekends], resize:NODES=2xTYPE, "
                    "switch-market:NODES=spot, move-region:NODES=REGION, limit-reservation:JOB=4h");
  add_period_options(replay, options->period);
  replay.add_option("--policy", options->policies,
                    "a policy, repeated for a comparison: fifo, fifo-skip, sjf-oracle, srtf, fair or stint, and settings after a "
                    "colon (default: fifo and stint)");
  replay.add_option("--seed", options->seed, "for what is drawn by chance (default: 42)");
  replay.add_flag("--json", options->json, "print JSON");
  replay.add_option("--html", options->html, "also write the comparison as one HTML file");
  replay.callback([options, &replay, &action] {
    if (!replay.get_subcommands().empty()) return;
    const int inputs = (options->history.empty() ? 0 : 1) + (options->jobs.empty() ? 0 : 1) + (options->workload.empty() ? 0 : 1);
    if (inputs != 1)
      throw CLI::RequiredError("exactly one of --history, --jobs and --workload, or one of the commands listed by --help,");
    action = [options] {
      const Status done = print_replay(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
