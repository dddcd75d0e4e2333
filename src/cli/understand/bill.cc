// stint bill: who pays what of a month's bill, and what was not used.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/cli.h"
#include "cli/govern/accounts.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "cli/understand/allocation_bill.h"
#include "cli/understand/basis_option.h"
#include "codec/bills/focus_writer.h"
#include "codec/bills/source_columns.h"
#include "host/file.h"
#include "ledger/cost_statement.h"
#include "ledger/one_currency.h"
#include "report/statement_html.h"
#include "report/statement_text.h"
#include "store/history_file.h"
#include "store/run_owners.h"

namespace stint {
namespace {

struct BillOptions {
  std::string history;
  PeriodOptions period;
  std::string by = "client";
  BasisOption basis;
  std::string idle = "separate";
  std::string format = "table";
  std::string step;
  std::vector<std::string> clients;
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

/// The keys of --by, where it is none of the ledger's own dimensions.
Result<std::vector<AllocationKey>> pod_keys(const std::string& by) {
  if (parse_tenant_dimension(by).ok()) return std::vector<AllocationKey>();
  return parse_allocation_keys(by);
}

Result<std::string> render(const BillOptions& options, StatementOptions wanted, const Ledger& ledger) {
  const std::string format = options.json ? "json" : options.format;
  wanted.idle = options.idle == "spread" ? IdleTreatment::kSpread : IdleTreatment::kSeparate;
  const CostStatement statement = make_statement(ledger, wanted);
  if (format == "json") return statement_json(statement, ledger);
  if (format == "html") return statement_html(statement, ledger);
  if (format == "csv") return statement_csv(statement, ledger);
  return statement_table(statement, ledger, options.output.empty() ? screen_of_stdout() : Screen());
}

/// What is asked for only where it is answered: nothing that was said is passed over.
Status check_options(const BillOptions& options) {
  const bool opencost = options.format == "opencost" && !options.json;
  if (!opencost && !options.step.empty()) return invalid("--step goes with --format opencost alone");
  if (!opencost && !options.clients.empty()) return invalid("--client goes with --format opencost alone: give --by client else");
  if (!opencost && options.idle == "left-out") return invalid("--idle left-out goes with --format opencost alone");
  return {};
}

Status run_opencost(const BillOptions& options, Interval period) {
  AllocationAsked asked;
  TRY_ASSIGN(asked.options.by, parse_allocation_keys(options.by));
  if (!options.step.empty()) {
    TRY_ASSIGN(asked.step, parse_duration(options.step));
  }
  asked.options.idle = options.idle == "spread"     ? AllocationIdle::kSpread
                       : options.idle == "left-out" ? AllocationIdle::kLeftOut
                                                    : AllocationIdle::kSeparate;
  if (!options.clients.empty()) asked.options.clients.emplace(options.clients.begin(), options.clients.end());
  asked.with_problems = options.clients.empty();
  asked.basis = options.basis.value();
  asked.window = period;
  const auto records = load_records(options.history, period, options.estimate ? WithEstimates::kYes : WithEstimates::kNo);
  // A dashboard asks for windows of which nothing is known, too.
  const bool nothing = !records.ok() && records.error().code == ErrorCode::kNotFound && is_regular_file(options.history);
  if (!records.ok() && (!nothing || period.empty())) return records.error();
  if (nothing) {
    TRY_ASSIGN(const std::string text, empty_opencost_text(period, asked.step));
    return write_output(options.output, text);
  }
  TRY_ASSIGN(const RunOwners owners, read_run_owners(options.history));
  TRY_ASSIGN(const std::string text, opencost_text(*records, owners, asked));
  return write_output(options.output, text);
}

void tell_problems(const Ledger& ledger) {
  for (const std::string& problem : ledger.problems)
    tell("stint: {}\n", problem);
}

Status bill_by_pod(const BillOptions& options, const std::vector<AllocationKey>& keys, const Records& records) {
  if (options.format == "focus" && !options.json)
    return invalid("--format focus has a row for each posting of a tenant: leave out --by, or give another format");
  TRY_ASSIGN(const RunOwners owners, read_run_owners(options.history));
  TRY_ASSIGN(const PodAccounts accounts, keep_accounts_by_pod(records, options.basis.value()));
  TRY_ASSIGN(const std::string text, render(options, statement_by(keys, records.history, owners, accounts), accounts.ledger));
  TRY(write_output(options.output, text));
  tell_problems(accounts.ledger);
  return {};
}

Status run_bill(const BillOptions& options) {
  TRY(check_options(options));
  TRY_ASSIGN(const Interval period, parse_period(options.period));
  if (options.format == "opencost" && !options.json) return run_opencost(options, period);
  TRY_ASSIGN(Records records, load_records(options.history, period, options.estimate ? WithEstimates::kYes : WithEstimates::kNo));
  TRY_ASSIGN(const std::vector<AllocationKey> keys, pod_keys(options.by));
  if (!keys.empty()) return bill_by_pod(options, keys, records);
  const bool focus = options.format == "focus" && !options.json;
  if (focus) TRY(add_source_columns(records.history, options.history, period));
  TRY_ASSIGN(Accounts accounts, keep_accounts(records, options.basis.value()));
  if (focus && !records.history.converted.empty())
    TRY(undo_conversion(accounts.ledger, records.history, options.history, period));
  if (focus) {
    TRY(write_output(options.output, focus_csv(accounts.ledger, records.history)));
  } else {
    StatementOptions wanted;
    TRY_ASSIGN(wanted.by, parse_tenant_dimension(options.by));
    TRY_ASSIGN(const std::string text, render(options, std::move(wanted), accounts.ledger));
    TRY(write_output(options.output, text));
  }
  tell_problems(accounts.ledger);
  return {};
}

}  // namespace

void add_bill_command(Command& app, Action& action) {
  auto options = std::make_shared<BillOptions>();
  Command* command = app.add_subcommand("bill", "Who pays what: the bill by client, project, team, workload, namespace or label");
  command->add_option("--history", options->history, "History file")->required();
  add_period_options(*command, options->period);
  command
      ->add_option("--by", options->by,
                   "what a row is; of Kubernetes also label:KEY, controllerKind, container, or several: namespace,label:app")
      ->type_name("TEXT:{client,project,team,environment,workload,namespace,controller,pod,node}")
      ->check(passes([](const std::string& by) {
        const auto keys = pod_keys(by);
        return keys.ok() ? std::string() : keys.error().message;
      }))
      ->capture_default_str();
  add_basis_option(*command, options->basis);
  command
      ->add_option("--idle", options->idle,
                   "separate: idle money beside the rows, by cause; spread: shared by compute money; left-out: of opencost alone")
      ->check(one_of({"separate", "spread", "left-out"}))
      ->capture_default_str();
  command
      ->add_option(
          "--format", options->format,
          "table, json, csv, html; focus: FOCUS 1.3 rows with the tenants they go to; opencost: as its allocation API answers")
      ->check(one_of({"table", "json", "csv", "html", "focus", "opencost"}))
      ->capture_default_str();
  command->add_option("--step", options->step, "of opencost: one set of rows for each such time, as 1d")->type_name("TIME");
  command->add_option("--client", options->clients, "of opencost: only what is this client's; repeatable")->type_name("NAME");
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
