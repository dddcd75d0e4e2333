#include "cli/understand/import_outcome.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "cli/output.h"

namespace stint {

nlohmann::json outcome_json(const ImportOutcome& outcome) {
  const ImportRecord& record = outcome.record;
  auto rejections = nlohmann::json::array();
  for (const RejectedRow& row : outcome.first_rejections)
    rejections.push_back({{"source", row.source}, {"line", row.line}, {"reason", row.reason}});
  auto replaced = nlohmann::json::array();
  for (const ReplacedBill& bill : outcome.replaced)
    replaced.push_back({{"import", bill.import_id},
                        {"source", bill.source},
                        {"provider", bill.provider},
                        {"billing_account", bill.billing_account},
                        {"billing_begin", format_utc(bill.billing_begin)},
                        {"lines", bill.lines},
                        {"purchases_count", bill.purchases_count}});
  return {{"format", record.kind},
          {"source", record.source},
          {"fingerprint", record.fingerprint},
          {"imported_at", format_utc(record.imported_at)},
          {"already_there", outcome.already_there},
          {"nothing_known", outcome.nothing_known},
          {"accepted", record.accepted},
          {"rejected", record.rejected},
          {"duplicates", record.duplicates},
          {"nodes", outcome.reach.nodes},
          {"devices", outcome.reach.devices},
          {"replaced", std::move(replaced)},
          {"notes", outcome.notes},
          {"first_rejections", std::move(rejections)}};
}

void print_outcome(const ImportOutcome& outcome) {
  const ImportRecord& record = outcome.record;
  if (outcome.already_there) {
    say("{}: already imported on {}; nothing changed\n", record.source, format_utc(record.imported_at));
    return;
  }
  if (outcome.nothing_known) {
    say("{}: holds no metric that Stint knows\n", record.source);
    return;
  }
  std::string line = fmt::format("{}: {} accepted, {} rejected", record.source, record.accepted, record.rejected);
  if (record.duplicates > 0) line += fmt::format(", {} already there", record.duplicates);
  if (outcome.reach.nodes > 0) line += "; " + counted(outcome.reach.nodes, "node");
  if (outcome.reach.devices > 0) line += ", " + counted(outcome.reach.devices, "device");
  say("{}\n", line);
  for (const ReplacedBill& bill : outcome.replaced) {
    if (bill.purchases_count) continue;  // a note says it
    say("  in the place of import {} ({}): {}{}, {}, {}; `stint history imports` lists both\n", bill.import_id, bill.source,
        bill.provider, bill.billing_account.empty() ? "" : " " + bill.billing_account,
        format_date(bill.billing_begin).substr(0, 7), counted(bill.lines, "line"));
  }
  for (const std::string& note : outcome.notes)
    tell("  {}\n", note);
  for (const RejectedRow& row : outcome.first_rejections)
    tell("  {}{}: {}\n", row.source, row.line > 0 ? fmt::format(":{}", row.line) : "", row.reason);
  if (record.rejected > outcome.first_rejections.size() && !outcome.first_rejections.empty())
    tell("  … {} rejected in all; the History keeps the first 1000 with their reasons\n", record.rejected);
}

}  // namespace stint
