#include "cli/understand/statement_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "host/file.h"
#include "report/client_statement_html.h"

namespace stint {
namespace {

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

}  // namespace

Result<WrittenStatements> write_statements(const Ledger& ledger, IdleTreatment idle, const std::vector<std::string>& clients,
                                           const std::string& folder) {
  const auto statements = make_client_statements(ledger, idle);
  for (const std::string& wanted : clients)
    if (std::ranges::find(statements, wanted, &ClientStatement::client) == statements.end())
      return invalid("no client '{}' in this period; stint bill --by client lists them", wanted);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return invalid("{}: {}", folder, failed.message());
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
    if (!clients.empty() && std::ranges::find(clients, s.client) == clients.end()) continue;
    const std::filesystem::path path = std::filesystem::path(folder) / file;
    TRY(write_file_atomically(path.string(), client_statement_html(s)));
    out.pages.push_back({s.client, s.total, path.string()});
  }
  out.idle = out.bill - out.by_client - out.unattributed;
  return out;
}

}  // namespace stint
