// stint forecast: what a demand will be, from a series or a History, and when capacity runs out.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "advise/plan/history_demand.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/decide/demand_file.h"
#include "cli/govern/accounts.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "cli/progress.h"
#include "codec/changes/known_change.h"
#include "report/forecast_view.h"

namespace stint {
namespace {

struct ForecastCommand {
  std::string series;
  std::string history;
  PeriodOptions period;
  std::string only;
  std::string horizon;
  std::string step;
  std::optional<double> capacity;
  std::optional<double> committed;
  std::vector<std::string> changes;
  bool json = false;
  std::string html;
  std::string output;
};

constexpr int64_t kDefaultHorizonHours = 168;

/// A week, and no more than an eighth of the past, unless it is said.
Result<size_t> horizon_of(const ForecastCommand& command, const DemandSeries& series) {
  if (command.horizon.empty()) {
    const auto week =
        static_cast<size_t>(std::max<int64_t>(1, (kHour * kDefaultHorizonHours).count_ns() / series.step.count_ns()));
    return std::clamp<size_t>(series.values.size() / 8, 1, std::min(week, kMaxForecastSteps));
  }
  TRY_ASSIGN(const Duration horizon, parse_duration(command.horizon));
  const int64_t steps = horizon.count_ns() / series.step.count_ns();
  if (steps < 1 || steps > static_cast<int64_t>(kMaxForecastSteps))
    return invalid("--horizon {} is {} steps of {} s; from 1 to {} are possible (--step sets longer ones)", command.horizon,
                   steps, series.step.to_seconds(), kMaxForecastSteps);
  return static_cast<size_t>(steps);
}

Result<ForecastRow> row_of(const ForecastCommand& command, DemandSeries series) {
  ForecastOptions options;
  TRY_ASSIGN(options.horizon, horizon_of(command, series));
  for (const std::string& text : command.changes) {
    TRY_ASSIGN(KnownChange change, parse_known_change(text));
    options.changes.push_back(std::move(change));
  }
  TRY_ASSIGN(Forecast made, forecast(series, options));
  return ForecastRow{std::move(series), std::move(made), {}};
}

void hold_against(ForecastRow& row, CapacityLimit::Kind kind, double amount) {
  if (amount > 0) row.outlooks.push_back(outlook(row.forecast, {kind, amount}));
}

/// One row per series that can be forecast; the others are said. An error only when none can.
Result<ForecastView> view_of(const ForecastCommand& command, std::vector<DemandSeries> all, std::string source) {
  const ProgressLine progress("forecasting");
  ForecastView view{std::move(source), {}, {}};
  std::string first_refusal;
  bool met = false;
  for (DemandSeries& series : all) {
    if (!command.only.empty() && !equals_ignoring_case(series.name, command.only)) continue;
    met = true;
    const std::string name = series.name;
    auto row = row_of(command, std::move(series));
    if (row.ok()) {
      view.rows.push_back(std::move(row).value());
    } else {
      if (first_refusal.empty()) first_refusal = row.error().message;
      view.notes.push_back(fmt::format("{}: {}", name, row.error().message));
    }
  }
  if (!met && !command.only.empty()) {
    std::vector<std::string> names;
    for (const DemandSeries& series : all)
      names.push_back("'" + series.name + "'");
    return invalid("{}: no series '{}'; there are {}", view.source, command.only, fmt::join(names, ", "));
  }
  if (view.rows.empty()) return invalid("{}: nothing to forecast: {}", view.source, met ? first_refusal : "it holds no demand");
  return view;
}

Result<ForecastView> forecast_series(const ForecastCommand& command) {
  std::optional<Duration> step;
  if (!command.step.empty()) {
    TRY_ASSIGN(step, parse_duration(command.step));
  }
  TRY_ASSIGN(std::vector<DemandSeries> all, read_demand(command.series, step));
  TRY_ASSIGN(ForecastView view, view_of(command, std::move(all), command.series));
  for (ForecastRow& row : view.rows) {
    hold_against(row, CapacityLimit::Kind::kCapacity, command.capacity.value_or(0));
    hold_against(row, CapacityLimit::Kind::kCommitment, command.committed.value_or(0));
  }
  const DemandSeries& first = view.rows.front().series;
  if (first.step != kHour && command.step.empty())
    view.notes.push_back(
        fmt::format("Steps of {} s: the file is too short for hours, or its values lie further apart; --step sets another.",
                    first.step.to_seconds()));
  return view;
}

Result<ForecastView> forecast_history(const ForecastCommand& command) {
  TRY_ASSIGN(const Interval period, parse_period(command.period));
  TRY_ASSIGN(const Records records, load_records(command.history, period));
  TRY_ASSIGN(const Accounts accounts, keep_accounts(records, CostBasis::kEffective));
  std::vector<DemandSeries> all = demands_of(records.history, accounts.attribution.occupancy, accounts.ledger);
  TRY_ASSIGN(ForecastView view, view_of(command, std::move(all), command.history));
  const FleetCapacity fleet = capacity_at(records.history, records.history.period.end);
  for (ForecastRow& row : view.rows) {
    if (row.series.name != "GPUs held") continue;
    hold_against(row, CapacityLimit::Kind::kCapacity, command.capacity.value_or(static_cast<double>(fleet.gpus)));
    hold_against(row, CapacityLimit::Kind::kCommitment, command.committed.value_or(static_cast<double>(fleet.committed_gpus)));
  }
  return view;
}

Status run_forecast(const ForecastCommand& command) {
  TRY_ASSIGN(const ForecastView view, command.series.empty() ? forecast_history(command) : forecast_series(command));
  if (!command.html.empty()) TRY(write_output(command.html, forecast_html(view)));
  const Screen screen = command.output.empty() ? screen_of_stdout() : Screen();
  return write_output(command.output, command.json ? forecast_json(view) : forecast_text(view, screen));
}

}  // namespace

void add_forecast_command(Command& app, Action& action) {
  auto options = std::make_shared<ForecastCommand>();
  Command* command =
      app.add_subcommand("forecast", "What demand will be, with intervals tried on the past, and when capacity runs out");
  auto* series =
      command->add_option("--series", options->series, "CSV: time,value or a public trace (docs/formats.md); may be .gz");
  auto* history = command->add_option("--history", options->history, "History file: GPUs, cost, runs by kind, GPUs by client");
  series->excludes(history);
  add_period_options(*command, options->period);
  command->add_option("--only", options->only, "only the series of this name");
  command->add_option("--horizon", options->horizon,
                      "how far: 168h, 90d; a week, and at most an eighth of the past, when not given");
  command->add_option("--step", options->step, "of a --series file: 1h, 10m, 30s; chosen by its length when not given")
      ->excludes(history);
  command
      ->add_option("--capacity", options->capacity,
                   "what there is, in the unit of the series; of a History the GPUs of its fleet")
      ->check(positive_number());
  command->add_option("--committed", options->committed, "what is paid for anyway, in the unit of the series")
      ->check(positive_number());
  command->add_option("--change", options->changes, "known change: 2026-12-01:+40, 2026-12-24..2027-01-02:x0.3; repeatable");
  command->add_flag("--json", options->json, "print JSON");
  command->add_option("--html", options->html, "write a page to this file");
  command->add_option("-o,--output", options->output, "write to this file");
  command->footer("Example: stint forecast --series requests.csv --horizon 30d --capacity 120 --change 2026-12-01:+15");
  command->callback([options, &action] {
    if (options->series.empty() == options->history.empty()) missing_argument("one of --series and --history");
    action = [options] {
      const Status done = run_forecast(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
