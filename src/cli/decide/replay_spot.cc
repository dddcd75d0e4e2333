// stint replay spot: what a task with a deadline costs on recorded spot capacity, on the protocol of Can't Be Late (NSDI 2024).
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/decide/replay.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "codec/traces/spot_trace.h"
#include "host/file.h"
#include "sched/spot/spot_stint_policy.h"
#include "sim/spot_optimum.h"
#include "sim/spot_replay.h"

namespace stint {
namespace {

struct SpotOptions {
  std::vector<std::string> traces;
  std::string windows;
  double task_hours = 0;
  double deadline_hours = 0;
  double changeover_hours = 0;
  std::string on_demand;
  std::string spot;
  std::string policy;
  std::string per_window;
  int threads = 0;
  bool json = false;
};

/// All that a replay needs; every window is long enough for the task.
struct SpotInput {
  std::vector<SpotTrace> traces;
  std::vector<SpotWindow> windows;
  sched::SpotTask task;
  sim::SpotPrices prices;

  [[nodiscard]] std::span<const uint8_t> available(const SpotWindow& w) const {
    return std::span(traces[w.trace].available).subspan(w.start_tick, w.length_ticks);
  }
};

struct Outcome {
  std::vector<sim::SpotRun> runs;  ///< by window
  double seconds = 0;
};

/// Folders stand for the .json and .json.gz files in them, by name.
Result<std::vector<std::string>> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : std::filesystem::directory_iterator(path, error))
      if (const std::string name = entry.path().string(); name.ends_with(".json") || name.ends_with(".json.gz"))
        inside.push_back(name);
    if (error) return invalid("{}: {}", path, error.message());
    if (inside.empty()) return invalid("{}: no .json or .json.gz in that folder", path);
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

Result<std::vector<SpotTrace>> read_traces(const std::vector<std::string>& paths) {
  TRY_ASSIGN(const std::vector<std::string> files, files_of(paths));
  std::vector<SpotTrace> traces;
  std::set<std::string> names;
  for (const std::string& file : files) {
    TRY_ASSIGN(const std::string text, read_all(file));
    TRY_ASSIGN(SpotTrace trace, read_spot_trace(text, file));
    if (!names.insert(trace.name).second) return invalid("{}: a trace named {} was given before", file, trace.name);
    traces.push_back(std::move(trace));
  }
  return traces;
}

Result<int64_t> seconds_of(double hours, std::string_view option) {
  const double seconds = hours * 3600;
  if (!(std::abs(seconds) < 1e9) || std::abs(seconds - std::round(seconds)) > 1e-6)
    return invalid("{} {}: expected hours that are whole seconds", option, hours);
  return std::llround(seconds);
}

Result<Rate> price_of(const std::string& text, std::string_view option) {
  Result<Rate> rate = Rate::parse_per_hour(text);
  if (rate.ok() && rate->per_hour().count_nanos() > 0) return rate;
  return invalid("{} {}: expected a price per hour above 0, such as 3.06", option, text);
}

Result<SpotInput> read_input(const SpotOptions& options) {
  SpotInput in;
  TRY_ASSIGN(in.prices.on_demand, price_of(options.on_demand, "--on-demand"));
  TRY_ASSIGN(in.prices.spot, price_of(options.spot, "--spot"));
  TRY_ASSIGN(in.task.work_s, seconds_of(options.task_hours, "--task-hours"));
  TRY_ASSIGN(in.task.deadline_s, seconds_of(options.deadline_hours, "--deadline-hours"));
  TRY_ASSIGN(in.task.changeover_s, seconds_of(options.changeover_hours, "--changeover-hours"));
  TRY_ASSIGN(in.traces, read_traces(options.traces));
  TRY_ASSIGN(const std::string text, read_all(options.windows));
  TRY_ASSIGN(in.windows, read_spot_windows(text, in.traces, options.windows));
  if (in.windows.empty()) return invalid("{}: no windows in it", options.windows);
  const SpotTrace& first = in.traces[in.windows.front().trace];
  in.task.tick_s = first.tick_s;
  TRY(in.task.check());
  for (const SpotWindow& w : in.windows) {
    const SpotTrace& trace = in.traces[w.trace];
    if (trace.tick_s != first.tick_s)
      return invalid("{} has ticks of {} s, {} of {} s: replay them apart", first.name, first.tick_s, trace.name, trace.tick_s);
    if (w.length_ticks < in.task.deadline_s / in.task.tick_s)
      return invalid("{}: sample {} of {} has {} ticks, the deadline comes after {}: give longer windows or an earlier deadline",
                     options.windows, w.sample, trace.name, w.length_ticks, in.task.deadline_s / in.task.tick_s);
  }
  return in;
}

/// Windows are independent: taken in blocks by as many threads as asked for.
/// @param make  makes what runs a window: called once per thread.
template <typename MakeRunner>
Outcome run_windows(const SpotInput& in, const SpotOptions& options, MakeRunner&& make) {
  constexpr size_t kBlock = 64;
  Outcome out;
  out.runs.resize(in.windows.size());
  std::atomic<size_t> next = 0;
  std::mutex drawing;
  ProgressLine progress("spot");
  size_t done = 0;  // guarded by `drawing`
  const auto work = [&] {
    auto run = make();
    for (size_t begin = next.fetch_add(kBlock); begin < in.windows.size(); begin = next.fetch_add(kBlock)) {
      const size_t end = std::min(begin + kBlock, in.windows.size());
      for (size_t i = begin; i < end; ++i)
        out.runs[i] = run(in.available(in.windows[i]));
      const std::lock_guard lock(drawing);
      done += end - begin;
      progress.show(static_cast<int64_t>(done), static_cast<int64_t>(in.windows.size()));
    }
  };
  const size_t cores =
      options.threads > 0 ? static_cast<size_t>(options.threads) : std::max(1U, std::thread::hardware_concurrency());
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (size_t t = 1; t < std::min(cores, (in.windows.size() + kBlock - 1) / kBlock); ++t)
      threads.emplace_back(work);
    work();
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

template <typename Policy>
Outcome run_policy(const SpotInput& in, const SpotOptions& options, const Policy& policy) {
  return run_windows(in, options, [&] {
    return [&task = in.task, own = policy](std::span<const uint8_t> available) mutable {
      return sim::replay_spot(task, available, own);
    };
  });
}

double price_ratio(const sim::SpotPrices& prices) {
  return prices.spot.per_hour().to_double() / prices.on_demand.per_hour().to_double();
}

Result<Outcome> run_chosen(const SpotInput& in, const SpotOptions& options) {
  if (options.policy == "greedy") return run_policy(in, options, sched::GreedySpot(in.task));
  if (options.policy == "uniform-progress") return run_policy(in, options, sched::UniformProgressSpot(in.task));
  if (options.policy == "stint") return run_policy(in, options, sched::StintSpot(in.task, price_ratio(in.prices)));
  TRY_ASSIGN(const sim::SpotOptimum optimum, sim::SpotOptimum::create(in.task, in.prices));
  return run_windows(
      in, options, [&] { return [own = optimum](std::span<const uint8_t> available) mutable { return own.solve(available); }; });
}

struct Summary {
  double cost_ratio_mean = 0;
  double on_demand_hours_mean = 0;
  double spot_hours_mean = 0;
  int64_t missed = 0;
  double ticks_per_second = 0;
};

Summary summary_of(const SpotInput& in, const Outcome& outcome) {
  Summary s;
  int64_t on_demand = 0;
  int64_t spot = 0;
  int64_t ticks = 0;
  for (const sim::SpotRun& run : outcome.runs) {
    s.cost_ratio_mean += sim::cost_ratio(run, in.task, in.prices);
    on_demand += run.on_demand_ticks;
    spot += run.spot_ticks;
    ticks += run.ticks;
    s.missed += run.missed ? 1 : 0;
  }
  const auto windows = static_cast<double>(outcome.runs.size());
  const double tick_hours = static_cast<double>(in.task.tick_s) / 3600;
  s.cost_ratio_mean /= windows;
  s.on_demand_hours_mean = static_cast<double>(on_demand) * tick_hours / windows;
  s.spot_hours_mean = static_cast<double>(spot) * tick_hours / windows;
  s.ticks_per_second = outcome.seconds > 0 ? static_cast<double>(ticks) / outcome.seconds : 0;
  return s;
}

std::string per_window_csv(const SpotInput& in, const Outcome& outcome) {
  std::string csv = "trace,sample,cost_ratio\n";
  for (size_t i = 0; i < in.windows.size(); ++i)
    csv += fmt::format("{},{},{:.6f}\n", in.traces[in.windows[i].trace].name, in.windows[i].sample,
                       sim::cost_ratio(outcome.runs[i], in.task, in.prices));
  return csv;
}

std::string as_json(const SpotInput& in, const Summary& s, const SpotOptions& options) {
  const nlohmann::ordered_json json = {{"policy", options.policy},
                                       {"windows", in.windows.size()},
                                       {"cost_ratio_mean", s.cost_ratio_mean},
                                       {"on_demand_hours_mean", s.on_demand_hours_mean},
                                       {"spot_hours_mean", s.spot_hours_mean},
                                       {"missed_deadlines", s.missed},
                                       {"ticks_per_second", s.ticks_per_second}};
  return json.dump(2) + "\n";
}

std::string as_text(const SpotInput& in, const Summary& s, const SpotOptions& options) {
  return fmt::format(
      "Policy {}: {} h of work within {} h, {} windows of {} s a tick\n"
      "  cost        {:.4f} of the work on on-demand alone (mean)\n"
      "  on-demand   {:.2f} h (mean)\n"
      "  spot        {:.2f} h (mean)\n"
      "  deadlines   {} missed\n"
      "  replayed    {:.1f} million ticks/s\n",
      options.policy, options.task_hours, options.deadline_hours, in.windows.size(), in.task.tick_s, s.cost_ratio_mean,
      s.on_demand_hours_mean, s.spot_hours_mean, s.missed, s.ticks_per_second / 1e6);
}

Status run_spot(const SpotOptions& options) {
  TRY_ASSIGN(const SpotInput in, read_input(options));
  TRY_ASSIGN(const Outcome outcome, run_chosen(in, options));
  if (!options.per_window.empty()) TRY(write_output(options.per_window, per_window_csv(in, outcome)));
  const Summary summary = summary_of(in, outcome);
  return write_output("", options.json ? as_json(in, summary, options) : as_text(in, summary, options));
}

}  // namespace

void add_replay_spot_command(Command& replay, Action& action) {
  auto options = std::make_shared<SpotOptions>();
  Command* command = replay.add_subcommand("spot", "A task with a deadline on recorded spot capacity: what does a policy cost?");
  command->add_option("--traces", options->traces, "recorded capacity (JSON, may be .gz), or folders of such files")->required();
  command
      ->add_option("--windows", options->windows,
                   "the stretches to replay: trace,sample,start_tick,length_ticks (CSV, may be .gz)")
      ->required();
  command->add_option("--task-hours", options->task_hours, "work, in hours of an instance")->required();
  command->add_option("--deadline-hours", options->deadline_hours, "hours from the beginning of a window")->required();
  command->add_option("--changeover-hours", options->changeover_hours, "paid, without work, whenever an instance begins")
      ->required();
  command->add_option("--on-demand", options->on_demand, "price per hour")->required();
  command->add_option("--spot", options->spot, "price per hour")->required();
  command->add_option("--policy", options->policy, "how capacity is chosen; optimal knows the future")
      ->required()
      ->check(one_of({"greedy", "uniform-progress", "optimal", "stint"}));
  command->add_option("--per-window", options->per_window, "write the cost of each window there (CSV)");
  command->add_option("--threads", options->threads, "windows replayed at a time; 0 = as many as there are cores");
  command->add_flag("--json", options->json, "as JSON");
  command->footer(
      "Example: stint replay spot --traces spot/*.json.gz --windows windows.csv.gz --task-hours 48 --deadline-hours 60 "
      "--changeover-hours 0.2 --on-demand 3.06 --spot 0.9731 --policy uniform-progress");
  command->callback([options, &action] {
    action = [options] {
      const Status done = run_spot(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
