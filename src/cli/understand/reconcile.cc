// stint reconcile: imported bills as they are invoiced, beside what the invoices say.
#include <fmt/format.h>

#include <memory>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "cli/understand/reconciled_history.h"
#include "report/reconciliation_view.h"

namespace stint {
namespace {

struct ReconcileOptions {
  std::string history, invoices;
  PeriodOptions period;
  std::string format = "table";
  bool json = false;
  std::string output;
};

Result<ExitCode> run_reconcile(const ReconcileOptions& o) {
  TRY_ASSIGN(const Interval period, parse_period(o.period));
  TRY_ASSIGN(const Reconciliation made, reconcile_history(o.history, o.invoices, period));
  if (made.rows.empty())
    return make_error(ErrorCode::kNotFound, "{} holds no bill{} and no invoice total is given: `stint import` takes bills",
                      o.history, period.empty() ? "" : " of these billing months");
  const std::string format = o.json ? "json" : o.format;
  TRY(write_output(o.output, format == "json" ? reconciliation_json(made)
                             : format == "csv"
                                 ? reconciliation_csv(made)
                                 : reconciliation_text(made, period, o.output.empty() ? screen_of_stdout() : Screen())));
  return made.differing() > 0 ? ExitCode::kPartly : ExitCode::kOk;
}

}  // namespace

void add_reconcile_command(Command& app, Action& action) {
  auto o = std::make_shared<ReconcileOptions>();
  Command* command = app.add_subcommand("reconcile", "Bills as they are invoiced, by account, beside what the invoices say");
  command->add_option("--history", o->history, "History file")->required();
  command
      ->add_option("--invoices", o->invoices,
                   "CSV with provider, account, month, total; also currency, invoice (its number, where an account has several)")
      ->check(existing_file());
  add_period_options(*command, o->period);
  command->add_option("--format", o->format, "table, json or csv")
      ->check(one_of({"table", "json", "csv"}))
      ->capture_default_str();
  command->add_flag("--json", o->json, "the same as --format json");
  command->add_option("-o,--output", o->output, "write to this file");
  command->footer(
      "Counts by billing period: fees paid up front in full, corrections in the month that bills them. `− spread` and `+ used` "
      "lead to\n"
      "the amortised cost of stint bill. Exit code 3: an invoice differs by more than half a cent.\n\n"
      "Example: stint reconcile --history fleet.db --month 2026-10 --invoices invoices.csv");
  command->callback([o, &action] {
    action = [o] {
      const auto done = run_reconcile(*o);
      return done.ok() ? *done : fail(done.error().message);
    };
  });
}

}  // namespace stint
