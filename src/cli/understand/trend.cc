// stint trend: why a month cost more or less than another, and which days were unusual.
#include <fmt/format.h>

#include <memory>

#include "cli/cli.h"
#include "cli/govern/accounts.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "cli/understand/anomalies.h"
#include "cli/understand/basis_option.h"
#include "ledger/cost_statement.h"
#include "report/trend_view.h"

namespace stint {
namespace {

struct TrendOptions {
  std::string history, against;
  PeriodOptions period;
  std::string by = "client";
  BasisOption basis;
  std::string least_amount = "10";
  double threshold = AnomalyOptions().threshold;
  std::string format = "table";
  bool json = false;
  std::string output;
};

/// The month that --against names; without it, the calendar month before, or as much time right before the period.
Result<Interval> period_before(const TrendOptions& o, Interval period) {
  if (!o.against.empty()) return parse_month(o.against);
  const Instant last = period.begin - Duration::nanoseconds(1);
  if (period == month_of(period.begin)) return month_of(last);
  return Interval{period.begin - period.length(), period.begin};
}

/// What was kept of a period, as one: the accounts borrow from the records.
struct PeriodBooks {
  Records records;
  std::vector<int64_t> gpus;
  Ledger ledger;
};
Result<std::unique_ptr<PeriodBooks>> books_of(const TrendOptions& o, Interval period) {
  auto out = std::make_unique<PeriodBooks>();
  TRY_ASSIGN(out->records, load_records(o.history, period));
  TRY_ASSIGN(Accounts accounts, keep_accounts(out->records, o.basis.value()));
  out->gpus = gpus_by_node(out->records.history);
  out->ledger = std::move(accounts.ledger);
  return out;
}

/// Days of both, where one has more: that alone explains a part of `use`.
std::vector<std::string> trend_notes(const Ledger& before, const Ledger& after) {
  std::vector<std::string> notes;
  for (const Ledger* ledger : {&before, &after})
    for (const std::string& line : coverage_lines(*ledger))
      notes.push_back(fmt::format("{}: {}", format_date(ledger->period.begin).substr(0, 7), line));
  const double hours_before = before.period.length().to_hours(), hours_after = after.period.length().to_hours();
  if (hours_before != hours_after)
    notes.push_back(fmt::format("{:.6g} days against {:.6g}: the same cost a day would change the total by {:+.1f} %.",
                                hours_after / 24, hours_before / 24, 100 * (hours_after / hours_before - 1)));
  return notes;
}

Status run_trend(const TrendOptions& o) {
  TRY_ASSIGN(const Interval period, parse_period(o.period));
  if (period.empty()) return invalid("which period? Give --month 2026-11, or --since and --until");
  TRY_ASSIGN(const Interval against, period_before(o, period));
  if (intersect(against, period).length() > Duration()) return invalid("--against: the two periods overlap");
  Trend trend;
  const auto least = Money::parse(o.least_amount);
  if (!least.ok() || least->count_nanos() < 0) return invalid("--min-amount '{}' is no amount of zero or more", o.least_amount);
  AnomalyOptions judged_by;
  judged_by.least_amount = *least;
  judged_by.threshold = o.threshold;
  ChangeRowsBy by;
  if (o.by != "service") {
    TRY_ASSIGN(by.tenant, parse_tenant_dimension(o.by));
  }
  {
    TRY_ASSIGN(const auto before, books_of(o, against));
    TRY_ASSIGN(const auto after, books_of(o, period));
    TRY_ASSIGN(trend.change, explain_change({before->ledger, before->gpus}, {after->ledger, after->gpus}, by));
    trend.notes = trend_notes(before->ledger, after->ledger);
    for (const std::string& problem : after->ledger.problems)
      tell("stint: {}\n", problem);
  }
  TRY_ASSIGN(trend.anomalies, anomalies_in(o.history, period, o.basis.value(), judged_by));
  const std::string format = o.json ? "json" : o.format;
  return write_output(o.output, format == "json"  ? trend_json(trend)
                                : format == "csv" ? trend_csv(trend)
                                                  : trend_text(trend, o.output.empty() ? screen_of_stdout() : Screen()));
}

}  // namespace

void add_trend_command(Command& app, Action& action) {
  auto o = std::make_shared<TrendOptions>();
  Command* command =
      app.add_subcommand("trend", "Why a month cost more or less than the one before, and which days were unusual");
  command->add_option("--history", o->history, "History file")->required();
  add_period_options(*command, o->period);
  command->add_option("--against", o->against, "UTC month to compare with; without it, the one before")->type_name("YYYY-MM");
  command->add_option("--by", o->by, "client, project, team, environment, workload or service")
      ->check(one_of({"client", "project", "team", "environment", "workload", "service"}))
      ->capture_default_str();
  add_basis_option(*command, o->basis);
  command->add_option("--threshold", o->threshold, "anomalies are so many robust standard deviations off")
      ->check(in_range(1.0, 100.0))
      ->capture_default_str();
  command->add_option("--min-amount", o->least_amount, "and by so much a day, in the bill's currency")
      ->type_name("AMOUNT")
      ->capture_default_str();
  command->add_option("--format", o->format, "table, json or csv")
      ->check(one_of({"table", "json", "csv"}))
      ->capture_default_str();
  command->add_flag("--json", o->json, "the same as --format json");
  command->add_option("-o,--output", o->output, "write to this file");
  command->footer("Example: stint trend --history fleet.db --month 2026-11 --by client");
  command->callback([o, &action] {
    action = [o] {
      const Status done = run_trend(*o);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
