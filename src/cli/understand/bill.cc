// stint bill: who pays what of a month's bill, and what was not used.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/cli.h"
#include "cli/govern/accounts.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "cli/understand/basis_option.h"
#include "codec/bills/focus_writer.h"
#include "codec/bills/source_columns.h"
#include "ledger/cost_statement.h"
#include "ledger/one_currency.h"
#include "report/statement_html.h"
#include "report/statement_text.h"
#include "store/history_file.h"

namespace stint {
namespace {

struct BillOptions {
  std::string history;
  PeriodOptions period;
  std::string by = "client";
  BasisOption basis;
  std::string idle = "separate";
  std::string format = "table";
  bool estimate = false;
  bool json = false;
  std::string output;
};

std::string focus_csv(const Ledger& ledger, const History& history) {
  std::string out;
  write_focus_ledger(ledger, history.nodes, [&](std::string_view piece) { out += piece; });
  return out;
}

Error changed_meanwhile(const std::string& path) {
  return make_error(ErrorCode::kConflict, "{}: was changed meanwhile: try again", path);
}

/// What the bill said in columns that its lines have no place for.
Status add_source_columns(History& history, const std::string& path, Interval period) {
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(path, OpenMode::kReadOnly));
  TRY_ASSIGN(std::vector<std::string> columns, file.load_source_columns(period));
  if (columns.size() != history.bill.size()) return changed_meanwhile(path);
  for (size_t i = 0; i < columns.size(); ++i)
    if (!columns[i].empty()) history.bill[i].tags.emplace_back(kSourceColumnsTag, std::move(columns[i]));
  return {};
}

/// FOCUS rows are in the currency that the bill is in.
Status undo_conversion(Ledger& ledger, const History& history, const std::string& path, Interval period) {
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(path, OpenMode::kReadOnly));
  TRY_ASSIGN(const History as_billed, file.load(period));
  if (as_billed.bill.size() != history.bill.size()) return changed_meanwhile(path);
  show_as_billed(ledger, history, as_billed.bill);
  return {};
}

Result<std::string> render(const BillOptions& options, const Ledger& ledger, const History& history) {
  const std::string format = options.json ? "json" : options.format;
  if (format == "focus") return focus_csv(ledger, history);
  StatementOptions wanted;
  TRY_ASSIGN(wanted.by, parse_tenant_dimension(options.by));
  wanted.idle = options.idle == "spread" ? IdleTreatment::kSpread : IdleTreatment::kSeparate;
  const CostStatement statement = make_statement(ledger, wanted);
  if (format == "json") return statement_json(statement, ledger);
  if (format == "html") return statement_html(statement, ledger);
  if (format == "csv") return statement_csv(statement, ledger);
  return statement_table(statement, ledger, options.output.empty() ? screen_of_stdout() : Screen());
}

Status run_bill(const BillOptions& options) {
  TRY_ASSIGN(const Interval period, parse_period(options.period));
  TRY_ASSIGN(Records records, load_records(options.history, period, options.estimate ? WithEstimates::kYes : WithEstimates::kNo));
  const bool focus = options.format == "focus" && !options.json;
  if (focus) TRY(add_source_columns(records.history, options.history, period));
  TRY_ASSIGN(Accounts accounts, keep_accounts(records, options.basis.value()));
  if (focus && !records.history.converted.empty())
    TRY(undo_conversion(accounts.ledger, records.history, options.history, period));
  TRY_ASSIGN(const std::string text, render(options, accounts.ledger, records.history));
  TRY(write_output(options.output, text));
  for (const std::string& problem : accounts.ledger.problems)
    tell("stint: {}\n", problem);
  return {};
}

}  // namespace

void add_bill_command(Command& app, Action& action) {
  auto options = std::make_shared<BillOptions>();
  Command* command = app.add_subcommand("bill", "Who pays what: the bill by client, project, team, environment or workload");
  command->add_option("--history", options->history, "History file")->required();
  add_period_options(*command, options->period);
  command->add_option("--by", options->by, "client, project, team, environment or workload")
      ->check(one_of({"client", "project", "team", "environment", "workload"}))
      ->capture_default_str();
  add_basis_option(*command, options->basis);
  command->add_option("--idle", options->idle, "separate: idle money beside the rows, by cause; spread: shared by compute money")
      ->check(one_of({"separate", "spread"}))
      ->capture_default_str();
  command->add_option("--format", options->format, "table, json, csv, html, or focus: FOCUS 1.3 rows with the tenants they go to")
      ->check(one_of({"table", "json", "csv", "html", "focus"}))
      ->capture_default_str();
  command->add_flag(
      "--estimate", options->estimate,
      "price also what nothing but the inventory speaks of, and time that bills do not reach; such money is labelled");
  command->add_flag("--json", options->json, "the same as --format json");
  command->add_option("-o,--output", options->output, "write to this file");
  command->footer("Example: stint bill --history fleet.db --month 2026-10 --by project --idle spread");
  command->callback([options, &action] {
    action = [options] {
      const Status done = run_bill(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
