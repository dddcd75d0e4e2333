// stint kpi: what a job and 1,000 inferences cost, how long results take, and what applied changes returned.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "advise/node_facts.h"
#include "base/counted.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/decide/applied.h"
#include "cli/decide/demand_file.h"
#include "cli/govern/accounts.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "cli/understand/basis_option.h"
#include "codec/traces/request_counter.h"
#include "host/file.h"
#include "ledger/kpis.h"
#include "report/kpi_view.h"
#include "report/savings_text.h"

namespace stint {
namespace {

struct KpiOptions {
  std::string history;
  PeriodOptions period;
  BasisOption basis;
  std::vector<std::string> requests;
  bool json = false;
  std::string output;
};

/// `counted` in the part of the period that is known, as a count of all of it.
Result<double> over_all_of(double counted, Duration known, Interval period, const std::string& service,
                           std::vector<std::string>& notes) {
  if (known <= Duration())
    return invalid("nothing of it lies between {} and {}", format_utc(period.begin), format_utc(period.end));
  const double part = known.to_hours() / period.length().to_hours();
  if (part < 0.999)
    notes.push_back(fmt::format("Requests to {} are known for {:.1f} % of the period; the rest is taken to be as that.", service,
                                100 * part));
  return counted / part;
}

/// How many requests a series counts within the period; what was not measured is taken to be as what was.
Result<double> requests_within(const DemandSeries& series, Interval period, const std::string& service,
                               std::vector<std::string>& notes) {
  double sum = 0;
  Duration known;
  for (size_t i = 0; i < series.values.size(); ++i) {
    const Interval step = intersect({series.at(i), series.at(i) + series.step}, period);
    if (step.empty() || !series.values[i]) continue;
    sum += *series.values[i] * static_cast<double>(step.length().count_ns()) / 1e9;
    known = known + step.length();
  }
  return over_all_of(sum, known, period, service, notes);
}

/// What a counter of requests went up within the period; what it was not watched is taken to be as what was.
Result<double> counted_within(const std::string& path, Interval period, const std::string& service,
                              std::vector<std::string>& notes) {
  TRY_ASSIGN(const std::string json, read_all(path));
  TRY_ASSIGN(const CounterIncrease counted, read_counter_increase(json, period, path));
  const auto all = over_all_of(counted.increase, counted.known, period, service, notes);
  return all.ok() ? all : Result<double>(invalid("{}: {}", path, all.error().message));
}

/// SERVICE=COUNT, or SERVICE=FILE: requests per second over time, or a counter of them.
Status add_requests(const std::string& text, Interval period, std::map<std::string, double>& requests,
                    std::vector<std::string>& notes) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return invalid("--requests {}: expected SERVICE=COUNT or SERVICE=FILE, such as search=12000000", excerpt(text));
  const std::string service = text.substr(0, equals), what = text.substr(equals + 1);
  if (const auto count = parse_number(what); count) {
    if (*count < 0) return invalid("--requests {}: a count is not below 0", excerpt(text));
    requests[service] = *count;
    return {};
  }
  if (what.ends_with(".json") || what.ends_with(".json.gz")) {
    TRY_ASSIGN(requests[service], counted_within(what, period, service, notes));
    return {};
  }
  TRY_ASSIGN(const std::vector<DemandSeries> series, read_demand(what, std::nullopt));
  if (series.size() != 1)
    return invalid("{}: holds {} series; give one of requests per second, with the columns time and value", what, series.size());
  const auto counted = requests_within(series[0], period, service, notes);
  if (!counted.ok()) return invalid("{}: {}", what, counted.error().message);
  requests[service] = *counted;
  return {};
}

Status run_kpi(const KpiOptions& o) {
  TRY_ASSIGN(const Interval period, parse_period(o.period));
  TRY_ASSIGN(const Records records, load_records(o.history, period));
  TRY_ASSIGN(const Accounts accounts, keep_accounts(records, o.basis.value()));
  std::map<std::string, double> requests;
  std::vector<std::string> notes = coverage_lines(accounts.ledger);
  for (const std::string& text : o.requests)
    TRY(add_requests(text, accounts.ledger.period, requests, notes));
  const auto kpis = make_kpis(records.history, accounts.attribution.occupancy, accounts.ledger, records.catalog, requests);
  if (!kpis.ok()) return invalid("--requests: {}", kpis.error().message);
  for (const JobKpis& jobs : kpis->jobs)
    if (jobs.unpriced > 0)
      notes.push_back(fmt::format("{} of {} {} jobs {} in no amount: their machines' price or GPUs are not known.", jobs.unpriced,
                                  jobs.jobs, jobs.kind, jobs.unpriced == 1 ? "is" : "are"));
  const FleetUse use =
      use_of(collect_facts(records.history, records.usage, accounts.attribution.occupancy, accounts.ledger, records.catalog));
  TRY_ASSIGN(const AppliedSavings changes, applied_savings(o.history));
  const Screen screen = o.output.empty() ? screen_of_stdout() : Screen();
  std::string text;
  if (o.json) {
    text = kpis_json(*kpis, use, notes, savings_list(changes.tracked, changes.applied));
  } else {
    text = kpis_text(*kpis, use, notes, screen);
    if (!changes.applied.empty())
      text += "\nApplied changes, over all that is recorded:\n" + savings_text(changes.tracked, changes.applied, screen);
  }
  TRY(write_output(o.output, text));
  for (const std::string& problem : accounts.ledger.problems)
    tell("stint: {}\n", problem);
  return {};
}

}  // namespace

void add_kpi_command(Command& app, Action& action) {
  auto o = std::make_shared<KpiOptions>();
  Command* command =
      app.add_subcommand("kpi", "What a job and 1,000 inferences cost, how long results take, what changes returned");
  command->add_option("--history", o->history, "History file")->required();
  add_period_options(*command, o->period);
  command
      ->add_option("--requests", o->requests,
                   "SERVICE=COUNT, repeated: how many a service answered in the period, as its counter says; or SERVICE=FILE, a "
                   "CSV of requests per second over time, or what a Prometheus answers to query_range of the counter (.json)")
      ->type_name("SERVICE=COUNT");
  add_basis_option(*command, o->basis);
  command->add_flag("--json", o->json, "print JSON");
  command->add_option("-o,--output", o->output, "write to this file");
  command->footer("Example: stint kpi --history fleet.db --month 2026-10 --requests search=12000000");
  command->callback([o, &action] {
    action = [o] {
      const Status done = run_kpi(*o);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
