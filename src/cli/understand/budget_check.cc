// stint budget check: budgets from a file against imported bills, how the month will end, and a gate for pipelines.
#include <memory>

#include "advise/track/budget_outlook.h"
#include "cli/cli.h"
#include "cli/govern/accounts.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/understand/basis_option.h"
#include "codec/bills/budget_csv.h"
#include "host/file.h"
#include "ledger/cost_statement.h"
#include "ledger/one_currency.h"
#include "report/budget_outlook_view.h"

namespace stint {
namespace {

struct BudgetCheckOptions {
  std::string history, budgets, month, until;
  BasisOption basis;
  bool json = false;
  std::string output;
};

/// Where the look ends: the end of the month, or --until.
Result<Instant> end_of_look(const BudgetCheckOptions& o, Interval month) {
  if (o.until.empty()) return month.end;
  TRY_ASSIGN(const Instant until, parse_instant(o.until));
  if (until <= month.begin || until > month.end) return invalid("--until {} is not in {}", o.until, o.month);
  return until;
}

Result<ExitCode> run_budget_check(const BudgetCheckOptions& o) {
  TRY_ASSIGN(const Interval month, parse_month(o.month));
  TRY_ASSIGN(const Instant until, end_of_look(o, month));
  TRY_ASSIGN(const std::string bytes, read_all(o.budgets));
  TRY_ASSIGN(std::vector<ClientBudget> budgets, read_budgets(bytes, o.budgets));
  TRY_ASSIGN(const Records records, load_records(o.history, {month.begin, until}));
  TRY_ASSIGN(const Accounts accounts, keep_accounts(records, o.basis.value()));
  if (const Status in_one = convert(budgets, month, accounts.ledger.total().currency(), records.exchange); !in_one.ok())
    return invalid("{}: {}", o.budgets, in_one.error().message);
  TRY_ASSIGN(const Records before, load_records(o.history, {month.begin - kOutlookPast, until}));
  TRY_ASSIGN(const Accounts past, keep_accounts(before, o.basis.value()));
  const auto outlook = look_ahead(month, accounts.ledger, past.ledger, budgets);
  if (!outlook.ok()) return invalid("{}: {}", o.budgets, outlook.error().message);
  const std::vector<std::string> notes = coverage_lines(accounts.ledger);
  TRY(write_output(o.output, o.json ? budget_outlook_json(*outlook, notes)
                                    : budget_outlook_text(*outlook, notes, o.output.empty() ? screen_of_stdout() : Screen())));
  for (const std::string& problem : accounts.ledger.problems)
    tell("stint: {}\n", problem);
  return outlook->over() > 0 ? ExitCode::kPartly : ExitCode::kOk;
}

}  // namespace

void add_budget_check_command(Command& budget, Action& action) {
  auto o = std::make_shared<BudgetCheckOptions>();
  Command* command = budget.add_subcommand("check", "Clients' budgets against imported bills, and how the month will end");
  command->add_option("--history", o->history, "History file")->required();
  command
      ->add_option("--budgets", o->budgets, "CSV with client (* = the whole bill), budget; also month (empty: every), currency")
      ->required()
      ->check(existing_file());
  command->add_option("--month", o->month, "UTC month, such as 2026-10")->required()->type_name("YYYY-MM");
  command->add_option("--until", o->until, "look at the month as it was then: nothing later counts")->type_name("TIME");
  add_basis_option(*command, o->basis);
  command->add_flag("--json", o->json, "the same as JSON");
  command->add_option("-o,--output", o->output, "write to this file");
  command->footer(
      "Exit code 3: a budget is exceeded or expected to be.\n\n"
      "Example: stint budget check --history fleet.db --month 2026-11 --budgets budgets.csv");
  command->callback([o, &action] {
    action = [o] {
      const auto done = run_budget_check(*o);
      return done.ok() ? *done : fail(done.error().message);
    };
  });
}

}  // namespace stint
