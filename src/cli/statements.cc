// stint statements: a page for each client with what it is charged for, to send or print.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/accounts.h"
#include "cli/basis_option.h"
#include "cli/cli.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "host/file.h"
#include "ledger/client_statement.h"
#include "report/client_statement_html.h"
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

struct WrittenPage {
  std::string client;
  Money amount;
  std::string path;
};

/// What was written and how it sums to the bill: by_client + unattributed + idle = bill.
struct WrittenStatements {
  std::vector<WrittenPage> pages;
  Money by_client;     ///< of all clients, also those without a page
  Money unattributed;  ///< cost that names no client
  Money idle;          ///< charged to no client; 0 when it is spread
  Money bill;
};

/// A file name that any system takes and no two clients share: "Müller & Co" → "m-ller-co".
std::string file_name_of(std::string_view client, std::set<std::string>& taken) {
  std::string name;
  for (const char c : client) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain)
      name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (!name.empty() && name.back() == '-')
    name.pop_back();
  if (name.empty()) name = "client";
  name.resize(std::min<size_t>(name.size(), 80));
  std::string free = name;
  for (int n = 2; !taken.insert(free).second; ++n)
    free = fmt::format("{}-{}", name, n);
  return free;
}

/// Writes each wanted client's page. @return kInvalidInput when a wanted client is not in the bill or the folder cannot be made.
Result<WrittenStatements> write_statements(const StatementsOptions& o, const Ledger& ledger) {
  const auto statements = make_client_statements(ledger, o.idle == "spread" ? IdleTreatment::kSpread : IdleTreatment::kSeparate);
  for (const std::string& wanted : o.clients)
    if (std::ranges::find(statements, wanted, &ClientStatement::client) == statements.end())
      return invalid("no client '{}' in this period; stint bill --by client lists them", wanted);
  std::error_code failed;
  std::filesystem::create_directories(o.folder, failed);
  if (failed) return invalid("{}: {}", o.folder, failed.message());
  const Money zero = Money::nanos(0, ledger.total().currency());
  WrittenStatements out{.pages = {}, .by_client = zero, .unattributed = zero, .idle = zero, .bill = ledger.total()};
  std::set<std::string> names;
  for (const ClientStatement& s : statements) {
    if (s.client.empty()) {
      out.unattributed = s.total;
      continue;
    }
    out.by_client += s.total;
    const std::string file = fmt::format("{}.html", file_name_of(s.client, names));
    if (!o.clients.empty() && std::ranges::find(o.clients, s.client) == o.clients.end()) continue;
    const std::filesystem::path path = std::filesystem::path(o.folder) / file;
    TRY(write_file_atomically(path.string(), client_statement_html(s)));
    out.pages.push_back({s.client, s.total, path.string()});
  }
  out.idle = out.bill - out.by_client - out.unattributed;
  return out;
}

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
  TRY_ASSIGN(const WrittenStatements written, write_statements(o, accounts.ledger));
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
