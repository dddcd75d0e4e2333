// stint replay --history, --jobs or --workload: recorded jobs once more, under one policy or several, on their own machines or others.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/all_cores.h"
#include "cli/decide/replay.h"
#include "cli/decide/replay_changes.h"
#include "cli/decide/replay_explain.h"
#include "cli/decide/replay_input.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "cli/progress.h"
#include "documents/workload_file.h"
#include "host/file.h"
#include "model/change_text.h"
#include "report/replay_view.h"
#include "report/waiting_text.h"
#include "sched/policy_text.h"
#include "sched/scheduler.h"
#include "sim/apply_change.h"
#include "sim/replay.h"

namespace stint {
namespace {

struct HistoryReplayOptions {
  ReplayInputOptions input;
  std::string write_workload;
  std::vector<std::string> changes;
  std::vector<std::string> policies;
  std::string spot_interrupted;
  std::string explain;
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

/// The world as it is, or with a change.
struct Variant {
  sim::Workload workload;
  ReplayChange shown;
};

ReplayRun replay_one(const sched::Policy& policy, const sim::Workload& workload, std::atomic<int64_t>& finished) {
  const auto begin = std::chrono::steady_clock::now();
  const sim::Workload known = as_known_to(policy, workload);
  sched::Scheduler scheduler(policy);
  Counter counter(finished);
  std::array<sim::Watcher*, 1> watchers = {&counter};
  ReplayRun run{.policy = sched::to_text(policy), .change = 0, .result = {}, .seconds = 0};
  run.result = sim::replay(scheduler, known, {}, watchers);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return run;
}

/// Every policy on every variant. Replays are independent: as many at a time as there are cores, progress on the terminal meanwhile.
std::vector<ReplayRun> replay_all(const std::vector<sched::Policy>& policies, const std::vector<Variant>& variants) {
  std::vector<ReplayRun> runs(policies.size() * variants.size());
  int64_t jobs = 0;
  for (const Variant& variant : variants)
    if (variant.shown.refused.empty()) jobs += static_cast<int64_t>(variant.workload.jobs.size() * policies.size());
  std::atomic<size_t> done = 0;
  std::atomic<int64_t> finished = 0;
  const auto replay_run = [&](size_t i) {
    const sched::Policy& policy = policies[i / variants.size()];
    const size_t change = i % variants.size();
    const Variant& variant = variants[change];
    runs[i].policy = sched::to_text(policy);
    if (variant.shown.refused.empty()) runs[i] = replay_one(policy, variant.workload, finished);
    runs[i].change = change;
    ++done;
  };
  const std::jthread all([&] { run_on_all_cores(runs.size(), replay_run); });
  ProgressLine progress("replaying jobs");
  while (done < runs.size()) {
    progress.show(finished, jobs);
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

Variant variant_of(sim::Workload workload, std::string name) {
  Variant variant{.workload = std::move(workload), .shown = {}};
  variant.shown.name = std::move(name);
  for (const sim::SimNode& node : variant.workload.nodes) {
    variant.shown.node_names.push_back(node.node.name);
    variant.shown.node_gpus.push_back(node.node.gpus);
  }
  return variant;
}

/// A commitment pays for whatever machine of its type is there. Where some of those it would pay for are not in the replay, it would
/// look unused: why, else empty.
std::string paid_for_outside(const Change& change, const ReplayInput& input) {
  const auto* commit = std::get_if<Commit>(&change);
  const auto* plan = std::get_if<SavingsPlan>(&change);
  if (commit == nullptr && plan == nullptr) return {};
  const std::vector<std::string>& named = commit != nullptr ? commit->nodes : plan->nodes;
  const auto is_paid = [&](const sim::SimNode& node) {
    if (!named.empty()) return std::ranges::find(named, node.node.name) != named.end();
    if (!sim::is_on_demand(node.market)) return false;
    if (plan != nullptr) return node.provider == plan->provider && rate_of(*plan, node.region, node.instance_type) != nullptr;
    return node.instance_type == commit->instance_type && (commit->provider.empty() || node.provider == commit->provider) &&
           (commit->region.empty() || node.region == commit->region);
  };
  const auto inside = std::ranges::count_if(input.workload.nodes, is_paid);
  const auto outside = std::ranges::count_if(input.left_out_nodes, is_paid);
  if (outside == 0 || (commit != nullptr && commit->count <= inside)) return {};
  const auto first = std::ranges::find_if(input.left_out_nodes, is_paid);
  return fmt::format(
      "of the machines that it pays for {} not in the replay ({}: {}); an audit bills the hours of all of them again",
      outside == 1 ? "1 is" : fmt::format("{} are", outside), first->node.name, input.left_out.at(first->node.name));
}

/// The workload with all changes of the list, or with why one of them cannot be replayed.
Variant changed(const ReplayInput& input, const ChangeList& list, const sim::ChangeSettings& settings) {
  sim::Workload workload = input.workload;
  std::vector<std::string> notes;
  for (const Change& change : list.changes) {
    const std::string outside = paid_for_outside(change, input);
    const auto done = outside.empty() ? sim::apply_change(workload, change, settings) : invalid("{}", outside);
    if (!done.ok() && list.when_refused == WhenRefused::kLeaveOut) {
      notes.push_back(fmt::format("left out, as it cannot be replayed: {}: {}", describe(change), done.error().message));
      continue;
    }
    if (!done.ok()) {
      Variant refused;
      refused.shown.name = list.name;
      refused.shown.refused = done.error().message;
      return refused;
    }
    for (const std::string& note : *done)
      if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
  }
  Variant variant = variant_of(std::move(workload), list.name);
  variant.shown.notes = std::move(notes);
  return variant;
}

/// A change of machines that the replay leaves out is refused for the reason they are.
bool explain_left_out(const ChangeList& list, const ReplayInput& input, std::string& refusal) {
  for (const Change& change : list.changes)
    for (const std::string& name : nodes_of(change))
      if (const auto out = input.left_out.find(name); out != input.left_out.end()) {
        refusal = fmt::format("'{}' is not in the replay: {}", name, out->second);
        return true;
      }
  return false;
}

/// A change that names machines which are not there was mistyped: its refusal says what there is.
/// @return whether that is why it was refused.
bool explain_unknown_nodes(const ChangeList& list, const sim::Workload& workload, std::string& refusal) {
  std::vector<std::string> names;
  for (const sim::SimNode& node : workload.nodes)
    names.push_back(node.node.name);
  for (const Change& change : list.changes)
    for (const std::string& name : nodes_of(change))
      if (std::ranges::find(names, name) == names.end() && refusal.find("'" + name + "'") != std::string::npos) {
        refusal += what_exists(name, names);
        return true;
      }
  return false;
}

Result<sim::ChangeSettings> change_settings(const HistoryReplayOptions& options, const ReplayInput& input) {
  sim::ChangeSettings settings{.catalog = &input.catalog, .seed = options.seed};
  if (options.spot_interrupted.empty()) settings.spot_between_of = input.spot_between_of;
  if (options.spot_interrupted == "never") {
    settings.spot_mean_between = sched::kUnlimited;
  } else if (!options.spot_interrupted.empty()) {
    TRY_ASSIGN(settings.spot_mean_between, parse_duration(options.spot_interrupted));
    if (settings.spot_mean_between < Duration::minutes(1))
      return invalid("--spot-interrupted '{}': at least a minute, or never", options.spot_interrupted);
  }
  return settings;
}

/// What is replayed with one change, with none what there is. @return error when there are several.
Status write_variant(const std::vector<Variant>& variants, const std::string& path) {
  if (variants.size() > 2) return invalid("--write-workload writes one workload: name at most one --change");
  const Variant& variant = variants.back();
  if (!variant.shown.refused.empty()) return invalid("--write-workload: {}", variant.shown.refused);
  TRY_ASSIGN(const std::string text, write_workload(variant.workload));
  TRY(write_file_atomically(path, text));
  tell("wrote {}\n", path);
  return {};
}

/// @param code  kPartly where a change names what is not there.
Result<ReplayView> replay_input(const HistoryReplayOptions& options, ExitCode& code) {
  TRY_ASSIGN(const std::vector<sched::Policy> policies, parse_policies(options));
  TRY_ASSIGN(const std::vector<ChangeList> changes, read_change_options(options.changes));
  ReplayInputOptions wanted = options.input;
  wanted.only_recorded_jobs = !options.write_workload.empty();
  TRY_ASSIGN(const ReplayInput input, read_replay_input(wanted));
  TRY(sim::check_workload(input.workload));
  TRY_ASSIGN(const sim::ChangeSettings settings, change_settings(options, input));
  std::vector<Variant> variants = {variant_of(input.workload, "as it is")};
  for (const ChangeList& list : changes) {
    variants.push_back(changed(input, list, settings));
    std::string& refusal = variants.back().shown.refused;
    if (!refusal.empty() && !explain_left_out(list, input, refusal) && explain_unknown_nodes(list, input.workload, refusal))
      code = ExitCode::kPartly;
  }
  if (!options.write_workload.empty()) TRY(write_variant(variants, options.write_workload));
  ReplayView view;
  view.source = input.source;
  view.notes = input.notes;
  view.seed = options.seed;
  view.jobs = static_cast<int64_t>(input.workload.jobs.size());
  view.nodes = static_cast<int64_t>(input.workload.nodes.size());
  for (const sim::SimNode& node : input.workload.nodes)
    view.gpus += node.node.gpus;
  for (const sim::SimJob& job : input.workload.jobs)
    view.job_names.push_back(job.name);
  view.runs = replay_all(policies, variants);
  for (Variant& variant : variants)
    view.changes.push_back(std::move(variant.shown));
  return view;
}

/// Why one job waits, under each policy, instead of what came of all.
Status print_explanation(const HistoryReplayOptions& options) {
  TRY_ASSIGN(const std::vector<sched::Policy> policies, parse_policies(options));
  TRY_ASSIGN(const ReplayInput input, read_replay_input(options.input));
  TRY(sim::check_workload(input.workload));
  const WaitingNames names = names_in(input.workload);
  std::string text;
  nlohmann::ordered_json data = nlohmann::ordered_json::array();
  for (const sched::Policy& policy : policies) {
    TRY_ASSIGN(const ExplainedJob found, explain_in_replay(policy, as_known_to(policy, input.workload), options.explain));
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", sched::to_text(policy),
                        waiting_text(found.why, names, found.job, found.at));
    data.push_back(waiting_json(found.why, names, found.job, found.at));
    data.back()["policy"] = sched::to_text(policy);
  }
  return options.json ? write_output("", data.dump(2) + "\n") : write_text(text);
}

Result<ExitCode> print_replay(const HistoryReplayOptions& options) {
  ExitCode code = ExitCode::kOk;
  if (!options.explain.empty()) {
    TRY(print_explanation(options));
    return code;
  }
  TRY_ASSIGN(const ReplayView view, replay_input(options, code));
  if (!options.html.empty()) {
    TRY(write_file_atomically(options.html, replay_html(view)));
    tell("wrote {}\n", options.html);
  }
  TRY(write_output("", options.json ? replay_json(view) : replay_text(view, screen_of_stdout())));
  for (const ReplayChange& change : view.changes)
    if (code != ExitCode::kOk && !change.refused.empty()) tell("stint: --change {}: {}\n", change.name, change.refused);
  return code;
}

}  // namespace

void add_replay_history_options(Command& replay, Action& action) {
  auto options = std::make_shared<HistoryReplayOptions>();
  options->policies = {"fifo", "stint"};
  replay.footer("Example: stint replay --history fleet.db --policy fifo --policy stint:backfill=conservative --html replay.html");
  replay.add_option("--history", options->input.history, "the History file whose jobs are run again");
  replay.add_option(
      "--jobs", options->input.jobs,
      "a job trace instead: CSV with timestamp,duration,num_gpus,cluster, an openb pod list, the DLRM trace, or sacct -P");
  replay.add_option("--jobs-format", options->input.jobs_format, "csv, openb, dlrm or sacct (default: by the header)");
  replay.add_option("--workload", options->input.workload,
                    "a plain workload file instead (docs/formats.md; examples/workload.csv)");
  replay.add_option("--write-workload", options->write_workload, "also write what is replayed as such a file");
  replay.add_option("--fleet", options->input.fleet,
                    "other machines: COUNTxTYPE[@REGION][:MARKET], separated by commas; a number as the type is so many GPUs; "
                    "MIN..MAX as the count is a pool that grows and shrinks by demand; or an openb node list (.csv, .csv.gz)");
  replay.add_option("--provisioning", options->input.provisioning, "how long a pool's node takes to be usable (default: 3m)");
  replay.add_option("--change", options->changes,
                    "what is changed, in a separate column, repeated: stop:NODES, schedule-off:NODES=20-7[+weekends], "
                    "resize:NODES=2xTYPE, switch-market:NODES=spot, move-region:NODES=REGION, limit-reservation:JOB=4h, "
                    "move-off-gpu:NODES=TYPE, commit:2xTYPE=1y, savings-plan:PROVIDER=12.5,1y,TYPE:RATE, share:NODES=mps:0.5; "
                    "several ';'; or a "
                    "file of them, an audit's JSON too (FILE, FILE#3, FILE#all)");
  replay.add_option("--spot-interrupted", options->spot_interrupted,
                    "mean time between interruptions of a node that a change moves to spot, or never (default: what the History "
                    "shows, else 20h)");
  add_period_options(replay, options->input.period);
  replay.add_option("--policy", options->policies,
                    "a policy, repeated for a comparison: fifo, fifo-skip, sjf-oracle, srtf, fair or stint, and settings after a "
                    "colon (default: fifo and stint)");
  replay.add_option("--seed", options->seed, "for what is drawn by chance (default: 42)");
  replay.add_option("--explain", options->explain,
                    "why this job waits (JOB, or JOB@TIME), what would start it and what that costs; instead of "
                    "the comparison");
  replay.add_flag("--json", options->json, "print JSON");
  replay.add_option("--html", options->html, "also write the comparison as one HTML file");
  replay.callback([options, &replay, &action] {
    if (!replay.chosen_subcommand().empty()) return;
    const int inputs = (options->input.history.empty() ? 0 : 1) + (options->input.jobs.empty() ? 0 : 1) +
                       (options->input.workload.empty() ? 0 : 1);
    if (inputs != 1)
      missing_argument("exactly one of --history, --jobs and --workload, or one of the commands listed by --help,");
    action = [options] {
      const Result<ExitCode> done = print_replay(*options);
      return done.ok() ? *done : fail(done.error().message);
    };
  });
}

}  // namespace stint
