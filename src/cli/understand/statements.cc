// stint statements: a page for each client with what it is charged for, to send or print.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/govern/accounts.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "cli/understand/basis_option.h"
#include "cli/understand/statement_pages.h"
#include "report/figures.h"
#include "report/table.h"

namespace stint {
namespace {

struct StatementsOptions {
  std::string history, folder;
  PeriodOptions period;
  BasisOption basis;
  std::string idle = "separate";
  std::vector<std::string> clients;
  bool json = false;
};

std::string written_table(const WrittenStatements& w, Screen screen) {
  Table table({{"client", Align::kLeft, 40}, {std::string(w.bill.currency().code()), Align::kRight}, {"page"}});
  for (const WrittenPage& page : w.pages)
    table.add_row({page.client, cents_text(page.amount), page.path});
  table.add_rule();
  table.add_row({"all clients", cents_text(w.by_client), ""});
  table.add_row({"not attributed", cents_text(w.unattributed), ""});
  table.add_row({"idle, of no client", cents_text(w.idle), ""});
  table.add_row({"bill", cents_text(w.bill), ""}, Tone::kStrong);
  return table.render(screen);
}

std::string written_json(const WrittenStatements& w) {
  auto pages = nlohmann::ordered_json::array();
  for (const WrittenPage& page : w.pages)
    pages.push_back({{"client", page.client}, {"amount", page.amount.to_decimal()}, {"page", page.path}});
  const Currency currency = w.bill.currency();
  return indented(nlohmann::ordered_json{{"currency", currency.code()},
                                         {"statements", std::move(pages)},
                                         {"all_clients", w.by_client.to_decimal()},
                                         {"unattributed", w.unattributed.to_decimal()},
                                         {"idle_unattributed", w.idle.to_decimal()},
                                         {"bill", w.bill.to_decimal()}});
}

Status run_statements(const StatementsOptions& o) {
  TRY_ASSIGN(const Interval period, parse_period(o.period));
  TRY_ASSIGN(const Records records, load_records(o.history, period));
  TRY_ASSIGN(const Accounts accounts, keep_accounts(records, o.basis.value()));
  const IdleTreatment idle = o.idle == "spread" ? IdleTreatment::kSpread : IdleTreatment::kSeparate;
  TRY_ASSIGN(const WrittenStatements written, write_statements(accounts.ledger, idle, o.clients, o.folder));
  if (o.json)
    fmt::print("{}\n", written_json(written));
  else
    fmt::print("{}", written_table(written, screen_of_stdout()));
  return {};
}

}  // namespace

void add_statements_command(Command& app, Action& action) {
  auto o = std::make_shared<StatementsOptions>();
  Command* command =
      app.add_subcommand("statements", "Writes a page for each client: what it is charged for, its own lines only");
  command->add_option("--history", o->history, "History file")->required();
  command->add_option("--folder", o->folder, "where the pages go, CLIENT.html each; made when it is not there")->required();
  add_period_options(*command, o->period);
  command->add_option("--client", o->clients, "only these clients; several by commas")->delimiter(',');
  add_basis_option(*command, o->basis);
  command->add_option("--idle", o->idle, "separate: idle money is charged to no client; spread: by their compute money")
      ->check(one_of({"separate", "spread"}))
      ->capture_default_str();
  command->add_flag("--json", o->json, "the pages and sums as JSON");
  command->footer("Example: stint statements --history fleet.db --month 2026-10 --folder statements-2026-10");
  command->callback([o, &action] {
    action = [o] {
      const Status done = run_statements(*o);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
