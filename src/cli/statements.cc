// stint statements: a page for each client with what it is charged for, to send or print.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/accounts.h"
#include "cli/cli.h"
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
  std::string basis = "effective";
  std::string idle = "separate";
  std::vector<std::string> clients;
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

Status run_statements(const StatementsOptions& o) {
  TRY_ASSIGN(const Interval period, parse_period(o.period));
  TRY_ASSIGN(const Records records, load_records(o.history, period));
  TRY_ASSIGN(const Accounts accounts, keep_accounts(records, o.basis == "billed" ? CostBasis::kBilled : CostBasis::kEffective));
  const auto statements =
      make_client_statements(accounts.ledger, o.idle == "spread" ? IdleTreatment::kSpread : IdleTreatment::kSeparate);
  for (const std::string& wanted : o.clients)
    if (std::ranges::find(statements, wanted, &ClientStatement::client) == statements.end())
      return invalid("no client '{}' in this period; stint bill --by client lists them", wanted);
  std::error_code failed;
  std::filesystem::create_directories(o.folder, failed);
  if (failed) return invalid("{}: {}", o.folder, failed.message());
  Table table({{"client", Align::kLeft, 40}, {std::string(accounts.ledger.total().currency().code()), Align::kRight}, {"page"}});
  const Money zero = Money::nanos(0, accounts.ledger.total().currency());
  Money stated = zero, unnamed = zero;
  std::set<std::string> names;
  for (const ClientStatement& s : statements) {
    if (s.client.empty()) {
      unnamed = s.total;
      continue;
    }
    stated += s.total;
    const std::string file = fmt::format("{}.html", file_name_of(s.client, names));
    if (!o.clients.empty() && std::ranges::find(o.clients, s.client) == o.clients.end()) continue;
    const std::filesystem::path path = std::filesystem::path(o.folder) / file;
    TRY(write_file_atomically(path.string(), client_statement_html(s)));
    table.add_row({s.client, cents_text(s.total), path.string()});
  }
  const Money rest = accounts.ledger.total() - stated - unnamed;
  table.add_rule();
  table.add_row({"all clients", cents_text(stated), ""});
  table.add_row({"not attributed", cents_text(unnamed), ""});
  table.add_row({"idle, of no client", cents_text(rest), ""});
  table.add_row({"bill", cents_text(accounts.ledger.total()), ""}, Tone::kStrong);
  fmt::print("{}", table.render(screen_of_stdout()));
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
  command->add_option("--basis", o->basis, "effective or billed, as in stint bill")
      ->check(one_of({"effective", "billed"}))
      ->capture_default_str();
  command->add_option("--idle", o->idle, "separate: idle money is charged to no client; spread: by their compute money")
      ->check(one_of({"separate", "spread"}))
      ->capture_default_str();
  command->footer("Example: stint statements --history fleet.db --month 2026-10 --folder statements-2026-10");
  command->callback([o, &action] {
    action = [o] {
      const Status done = run_statements(*o);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
