// stint close: a month's books in one folder: bill, reconciliation with the invoices, a statement for each client.
//
// The month is read and posted once for all three, so they cannot differ, and a year takes half the time of the single commands.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/govern/accounts.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/understand/basis_option.h"
#include "cli/understand/reconciled_history.h"
#include "cli/understand/statement_pages.h"
#include "report/figures.h"
#include "report/reconciliation_view.h"
#include "report/statement_html.h"
#include "report/statement_text.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

struct CloseOptions {
  std::string history, folder, invoices, month, through;
  BasisOption basis;
  std::string idle = "separate";
  bool again = false;
  bool json = false;
};

struct ClosedMonth {
  std::string month;   ///< "2026-10"
  std::string folder;  ///< where its files are
  WrittenStatements sums;
  std::optional<Reconciliation> invoices;  ///< none = no invoice was given
  std::vector<std::string> open;           ///< why the month is not closed; empty = it is
  std::vector<std::string> notes;          ///< money that is charged to no client until something more is imported
};

std::string month_name(Interval month) { return format_date(month.begin).substr(0, 7); }

Result<std::vector<Interval>> months_of(const CloseOptions& o) {
  TRY_ASSIGN(const Interval first, parse_month(o.month));
  TRY_ASSIGN(const Interval last, parse_month(o.through.empty() ? o.month : o.through));
  if (last.begin < first.begin) return invalid("--through {} is before --month {}", o.through, o.month);
  std::vector<Interval> months;
  for (Interval month = first; month.begin <= last.begin; month = month_of(month.end))
    months.push_back(month);
  return months;
}

void add_open_invoices(const Reconciliation& invoices, std::vector<std::string>& open) {
  for (const InvoiceRow& row : invoices.rows) {
    const std::string of = fmt::format("{} {}{}", row.provider, row.account.empty() ? "(no account)" : row.account,
                                       row.invoice.empty() ? "" : ", invoice " + row.invoice);
    if (!row.invoiced)
      open.push_back(fmt::format("{}: {} are imported, no invoice is given.", of, row.imported.to_text(2)));
    else if (!row.matches())
      open.push_back(
          fmt::format("{}: {} are imported, the invoice says {}.", of, row.imported.to_text(2), row.invoiced->to_text(2)));
  }
}

std::vector<std::string> why_open(const Ledger& ledger, const std::optional<Reconciliation>& invoices, Interval month) {
  std::vector<std::string> open;
  if (!ledger.period.empty() && ledger.period.end < month.end)
    open.push_back(fmt::format("Nothing is known of what is after {}.", format_utc(ledger.period.end)));
  if (!covers_period(ledger)) std::ranges::copy(coverage_lines(ledger), std::back_inserter(open));
  if (invoices) add_open_invoices(*invoices, open);
  return open;
}

/// The month's files in a folder that is not there yet.
Result<ClosedMonth> write_month(const CloseOptions& o, Interval month, const fs::path& folder) {
  TRY_ASSIGN(const Records records, load_records(o.history, month));
  TRY_ASSIGN(const Accounts accounts, keep_accounts(records, o.basis.value()));
  const Ledger& ledger = accounts.ledger;
  const IdleTreatment idle = o.idle == "spread" ? IdleTreatment::kSpread : IdleTreatment::kSeparate;
  ClosedMonth out{.month = month_name(month)};
  TRY_ASSIGN(out.sums, write_statements(ledger, idle, {}, (folder / "statements").string()));
  const CostStatement bill = make_statement(ledger, {.idle = idle});
  TRY(write_output((folder / "bill.json").string(), statement_json(bill, ledger)));
  TRY(write_output((folder / "bill.csv").string(), statement_csv(bill, ledger)));
  TRY(write_output((folder / "bill.html").string(), statement_html(bill, ledger)));
  TRY_ASSIGN(Reconciliation invoices, reconcile_history(o.history, o.invoices, month));
  TRY(write_output((folder / "reconciliation.csv").string(), reconciliation_csv(invoices)));
  if (!o.invoices.empty()) out.invoices = std::move(invoices);
  out.open = why_open(ledger, out.invoices, month);
  out.notes = ledger.problems;
  return out;
}

/// Writes beside and renames, so a folder of a month is whole or not there.
Result<ClosedMonth> close_month(const CloseOptions& o, Interval month) {
  const fs::path place = fs::path(o.folder) / month_name(month);
  std::error_code failed;
  if (fs::exists(place, failed) && !o.again)
    return make_error(ErrorCode::kConflict, "{} is there: that month was closed before; --again replaces its folder",
                      place.string());
  const fs::path made = fs::path(o.folder) / fmt::format(".{}.part-{}", month_name(month), getpid());
  auto closed = write_month(o, month, made);
  if (closed.ok()) {
    if (o.again) fs::remove_all(place, failed);
    fs::rename(made, place, failed);
    if (failed) closed = invalid("{}: {}", place.string(), failed.message());
  }
  if (!closed.ok()) {
    fs::remove_all(made, failed);
    return closed;
  }
  closed->folder = place.string();
  return closed;
}

std::string invoices_cell(const ClosedMonth& m) {
  if (!m.invoices) return "none given";
  return fmt::format("{} of {} match", m.invoices->given() - m.invoices->differing(), m.invoices->rows.size());
}

std::string closed_table(const std::vector<ClosedMonth>& months, Screen screen) {
  Table table({{"month"},
               {"currency"},
               {"bill", Align::kRight},
               {"clients", Align::kRight},
               {"not attributed", Align::kRight, 0, 1},
               {"idle, of no client", Align::kRight, 0, 1},
               {"statements", Align::kRight, 0, 2},
               {"invoices"},
               {"closed"}});
  for (const ClosedMonth& m : months)
    table.add_row({m.month, std::string(m.sums.bill.currency().code()), cents_text(m.sums.bill), cents_text(m.sums.by_client),
                   cents_text(m.sums.unattributed), cents_text(m.sums.idle), std::to_string(m.sums.pages.size()),
                   invoices_cell(m), m.open.empty() ? "yes" : "no"},
                  m.open.empty() ? Tone::kPlain : Tone::kWarn);
  std::string out = table.render(screen);
  for (const ClosedMonth& m : months)
    for (const std::string& why : m.open)
      out += fmt::format("{} is open: {}\n", m.month, why);
  for (const ClosedMonth& m : months)
    for (const std::string& note : m.notes)
      out += fmt::format("{}: {}\n", m.month, note);
  return fitted(out, screen);
}

std::string closed_json(const std::vector<ClosedMonth>& months) {
  auto list = nlohmann::ordered_json::array();
  for (const ClosedMonth& m : months) {
    nlohmann::ordered_json invoices;
    if (m.invoices)
      invoices = {{"rows", m.invoices->rows.size()}, {"given", m.invoices->given()}, {"differing", m.invoices->differing()}};
    list.push_back({{"month", m.month},
                    {"closed", m.open.empty()},
                    {"open", m.open},
                    {"notes", m.notes},
                    {"currency", m.sums.bill.currency().code()},
                    {"bill", m.sums.bill.to_decimal()},
                    {"all_clients", m.sums.by_client.to_decimal()},
                    {"unattributed", m.sums.unattributed.to_decimal()},
                    {"idle_unattributed", m.sums.idle.to_decimal()},
                    {"invoices", std::move(invoices)},
                    {"statements", m.sums.pages.size()},
                    {"folder", m.folder}});
  }
  return indented(nlohmann::ordered_json{{"months", std::move(list)}});
}

/// What a month's failure leaves closed is said before the failure.
Result<ExitCode> run_close(const CloseOptions& o) {
  TRY_ASSIGN(const std::vector<Interval> months, months_of(o));
  std::vector<ClosedMonth> closed;
  Status failed;
  for (size_t i = 0; i < months.size() && failed.ok(); ++i) {
    auto made = close_month(o, months[i]);
    if (made.ok())
      closed.push_back(std::move(*made));
    else
      failed = make_error(made.error().code, "{} is not closed: {}", month_name(months[i]), made.error().message);
  }
  if (!closed.empty()) TRY(write_output("", o.json ? closed_json(closed) + "\n" : closed_table(closed, screen_of_stdout())));
  TRY(failed);
  const bool all = std::ranges::all_of(closed, [](const ClosedMonth& m) { return m.open.empty(); });
  return all ? ExitCode::kOk : ExitCode::kPartly;
}

}  // namespace

void add_close_command(Command& app, Action& action) {
  auto o = std::make_shared<CloseOptions>();
  Command* command =
      app.add_subcommand("close", "Closes a month: bill, reconciliation with the invoices, a statement for each client");
  command->add_option("--history", o->history, "History file")->required();
  command->add_option("--month", o->month, "UTC month, such as 2026-10")->type_name("YYYY-MM")->required();
  command->add_option("--through", o->through, "the last of several months")->type_name("YYYY-MM");
  command
      ->add_option("--invoices", o->invoices,
                   "CSV with provider, account, month, total, as for stint reconcile; without it no invoice is compared")
      ->check(existing_file());
  command->add_option("--folder", o->folder, "where the months go, each in FOLDER/YYYY-MM")->required();
  add_basis_option(*command, o->basis);
  command->add_option("--idle", o->idle, "separate: idle money is charged to no client; spread: by their compute money")
      ->check(one_of({"separate", "spread"}))
      ->capture_default_str();
  command->add_flag("--again", o->again, "replace the folder of a month that was closed before");
  command->add_flag("--json", o->json, "the sums of each month as JSON");
  command->footer(
      "Writes bill.json, bill.csv, bill.html, reconciliation.csv and statements/CLIENT.html. Exit code 3: a month is open, for "
      "its\n"
      "bill does not reach to its end, hours have no price, or an invoice differs or is missing; its files are written "
      "too.\n\n"
      "Example: stint close --history fleet.db --month 2026-10 --invoices invoices.csv --folder books");
  command->callback([o, &action] {
    action = [o] {
      const auto done = run_close(*o);
      return done.ok() ? *done : fail(done.error().message);
    };
  });
}

}  // namespace stint
