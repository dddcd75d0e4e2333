// stint plan capacity: month by month whether to buy, release or cap.
#include <algorithm>
#include <memory>

#include "advise/node_facts.h"
#include "advise/plan/history_demand.h"
#include "base/text.h"
#include "cli/decide/demand_file.h"
#include "cli/decide/plan.h"
#include "cli/govern/accounts.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "codec/changes/known_changes.h"
#include "host/file.h"
#include "report/capacity_view.h"

namespace stint {
namespace {

struct CapacityCommand {
  std::string history;
  std::string series;
  PeriodOptions period;
  std::string only;
  int months = 3;
  std::vector<std::string> changes;
  std::string changes_file;
  std::optional<double> capacity;
  std::optional<double> committed;
  double accepted_pct = 10;
  double capped_pct = 5;
  bool json = false;
};

constexpr std::string_view kWholeFleet = "GPUs held";

Result<DemandSeries> pick(std::vector<DemandSeries> all, const std::string& source, std::string_view name) {
  std::string names;
  for (DemandSeries& series : all) {
    if (name.empty() || equals_ignoring_case(series.name, name)) return std::move(series);
    names += (names.empty() ? "'" : ", '") + series.name + "'";
  }
  return invalid("{}: no series '{}'; there are {}", source, name, names.empty() ? "none" : names);
}

/// What money buys a GPU for an hour in this fleet; none without a bill.
std::optional<Money> gpu_hour(const Records& records, const Accounts& accounts) {
  const FleetFacts facts =
      collect_facts(records.history, records.usage, accounts.attribution.occupancy, accounts.ledger, records.catalog);
  double hours = 0;
  double money = 0;
  for (const NodeFacts& node : facts.nodes) {
    hours += node.hours * static_cast<double>(node.gpu_count);
    money += node.compute.to_double();
  }
  return hours > 0 && money > 0 ? std::optional(Money::estimate(money / hours, facts.currency)) : std::nullopt;
}

Status load_history(const CapacityCommand& command, CapacityView& view) {
  TRY_ASSIGN(const Interval period, parse_period(command.period));
  TRY_ASSIGN(const Records records, load_records(command.history, period));
  TRY_ASSIGN(const Accounts accounts, keep_accounts(records, CostBasis::kEffective));
  TRY_ASSIGN(view.series, pick(demands_of(records.history, accounts.attribution.occupancy, accounts.ledger), command.history,
                               command.only.empty() ? kWholeFleet : std::string_view(command.only)));
  if (equals_ignoring_case(view.series.name, kWholeFleet)) {
    const FleetCapacity fleet = capacity_at(records.history, records.history.period.end);
    view.options.capacity = static_cast<double>(fleet.gpus);
    view.options.committed = static_cast<double>(fleet.committed_gpus);
  }
  if (view.series.unit == "GPUs") view.options.unit_hour = gpu_hour(records, accounts);
  return {};
}

Result<CapacityView> plan_of(const CapacityCommand& command) {
  CapacityView view;
  view.options.accepted = command.accepted_pct / 100;
  view.options.capped_share = command.capped_pct / 100;
  if (command.series.empty()) {
    view.source = command.history;
    TRY(load_history(command, view));
  } else {
    view.source = command.series;
    TRY_ASSIGN(std::vector<DemandSeries> all, read_demand(command.series, kHour));
    TRY_ASSIGN(view.series, pick(std::move(all), command.series, command.only));
  }
  view.options.capacity = command.capacity.value_or(view.options.capacity);
  view.options.committed = command.committed.value_or(view.options.committed);
  if (view.options.capacity <= 0) return invalid("the capacity of '{}' is not known: give --capacity", view.series.name);

  const Interval horizon{view.series.end(), months_after(view.series.end(), command.months)};
  if (!command.changes_file.empty()) {
    TRY_ASSIGN(const std::string text, read_all(command.changes_file));
    TRY_ASSIGN(view.changes, parse_known_changes(command.changes_file, text, horizon));
  }
  for (const std::string& text : command.changes) {
    TRY_ASSIGN(const auto made, expand_known_change(text, horizon));
    view.changes.insert(view.changes.end(), made.begin(), made.end());
  }
  const int64_t hours = std::max<int64_t>(1, horizon.length().count_ns() / kHour.count_ns());
  TRY_ASSIGN(view.forecast, forecast(view.series, {static_cast<size_t>(hours), view.changes}));
  TRY_ASSIGN(view.months, plan_capacity(view.forecast, view.options));
  return view;
}

Status print_plan(const CapacityCommand& command) {
  TRY_ASSIGN(const CapacityView view, plan_of(command));
  return write_output("", command.json ? capacity_json(view) : capacity_text(view, screen_of_stdout()));
}

}  // namespace

void add_plan_capacity_command(Command& plan, Action& action) {
  auto options = std::make_shared<CapacityCommand>();
  Command* command =
      plan.add_subcommand("capacity", "One to three months ahead: what to buy, release or cap, and the chance to be short");
  Option* history =
      command->add_option("--history", options->history, "the History file: GPUs held, against the GPUs of its fleet");
  command->add_option("--series", options->series, "CSV instead: time,value or a public trace; may be .gz")->excludes(history);
  add_period_options(*command, options->period);
  command->add_option("--only", options->only, "another series of the History or file, as stint forecast names them");
  command->add_option("--months", options->months, "how far")->check(in_range(1, 3))->capture_default_str();
  command->add_option("--change", options->changes,
                      "known change: 2026-12-01:+8, 2026-12-24..2027-01-02:x0.3, '2026-11-07 every 14d for 36h:+16'; repeatable");
  command->add_option("--changes", options->changes_file, "a file of them, one a line, # and a note behind");
  command->add_option("--capacity", options->capacity, "what there is, in the unit of the series")->check(positive_number());
  command->add_option("--committed", options->committed, "what is paid for anyway")->check(non_negative_number());
  command->add_option("--accept", options->accepted_pct, "chance of a shortage that nothing is done about, percent")
      ->check(in_range(0.1, 99.9))
      ->capture_default_str();
  command->add_option("--cap-below", options->capped_pct, "hold work back while fewer hours than that are short, percent")
      ->check(in_range(0.0, 100.0))
      ->capture_default_str();
  command->add_flag("--json", options->json, "print JSON");
  command->footer("Example: stint plan capacity --history fleet.db --change 2026-12-01:+8 --changes calendar.txt");
  command->callback([options, &action] {
    if (options->history.empty() && options->series.empty()) missing_argument("--history or --series");
    action = [options] {
      const Status done = print_plan(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
