// stint margin: what clients pay, less what their work costs.
#include <memory>

#include "cli/cli.h"
#include "cli/govern/accounts.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "cli/understand/basis_option.h"
#include "codec/bills/revenue_csv.h"
#include "host/file.h"
#include "ledger/margin.h"
#include "ledger/one_currency.h"
#include "report/margin_view.h"

namespace stint {
namespace {

struct MarginOptions {
  std::string history, revenue;
  PeriodOptions period;
  std::string by = "client";
  BasisOption basis;
  std::string idle = "spread";
  std::string format = "table";
  bool json = false;
  std::string output;
};

Status run_margin(const MarginOptions& o) {
  TRY_ASSIGN(const std::string bytes, read_all(o.revenue));
  TRY_ASSIGN(std::vector<RevenueRow> revenue, read_revenue(bytes, o.revenue));
  TRY_ASSIGN(const Interval period, parse_period(o.period));
  TRY_ASSIGN(const Records records, load_records(o.history, period));
  TRY_ASSIGN(const Accounts accounts, keep_accounts(records, o.basis.value()));
  if (const Status in_one = convert(revenue, accounts.ledger.period, accounts.ledger.total().currency(), records.exchange);
      !in_one.ok())
    return invalid("{}, {}", o.revenue, in_one.error().message);
  TRY_ASSIGN(const TenantDimension by, parse_tenant_dimension(o.by));
  auto margin = make_margin(accounts.ledger, revenue, by, o.idle == "spread" ? IdleTreatment::kSpread : IdleTreatment::kSeparate);
  if (!margin.ok()) return invalid("{}, {}", o.revenue, margin.error().message);
  const std::string format = o.json ? "json" : o.format;
  TRY(write_output(o.output, format == "json"  ? margin_json(*margin)
                             : format == "csv" ? margin_csv(*margin)
                                               : margin_text(*margin, o.output.empty() ? screen_of_stdout() : Screen())));
  for (const std::string& problem : accounts.ledger.problems)
    tell("stint: {}\n", problem);
  return {};
}

}  // namespace

void add_margin_command(Command& app, Action& action) {
  auto o = std::make_shared<MarginOptions>();
  Command* command = app.add_subcommand("margin", "What clients or projects pay, less what their work costs");
  command->add_option("--history", o->history, "History file")->required();
  command
      ->add_option("--revenue", o->revenue, "CSV with client, month, revenue; also project, currency, budget (what it may cost)")
      ->required()
      ->check(existing_file());
  add_period_options(*command, o->period);
  command->add_option("--by", o->by, "client or project")->check(one_of({"client", "project"}))->capture_default_str();
  add_basis_option(*command, o->basis);
  command->add_option("--idle", o->idle, "spread: clients pay idle money by their compute money; separate: beside the rows")
      ->check(one_of({"separate", "spread"}))
      ->capture_default_str();
  command->add_option("--format", o->format, "table, json or csv")
      ->check(one_of({"table", "json", "csv"}))
      ->capture_default_str();
  command->add_flag("--json", o->json, "the same as --format json");
  command->add_option("-o,--output", o->output, "write to this file");
  command->footer("Example: stint margin --history fleet.db --month 2026-10 --revenue revenue.csv --by project");
  command->callback([o, &action] {
    action = [o] {
      const Status done = run_margin(*o);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
