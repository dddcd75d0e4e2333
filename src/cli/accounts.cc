#include "cli/accounts.h"

#include "cli/output.h"
#include "cli/progress.h"
#include "store/history_file.h"
#include "telemetry/gpu_identity.h"

namespace stint {

Result<Records> load_records(const std::string& path, Interval period) {
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(path, OpenMode::kReadOnly));
  const ProgressLine progress("reading " + path);
  Records out;
  TRY_ASSIGN(out.history, file.load(period));
  const History& history = out.history;
  if (history.bill.empty() && history.nodes.empty() && history.runs.empty()) {
    const std::string when =
        period.empty() ? "" : fmt::format(" between {} and {}", format_utc(period.begin), format_utc(period.end));
    return make_error(ErrorCode::kNotFound, "{} holds nothing{}: import something first, see stint import --help", path, when);
  }
  TRY_ASSIGN(out.usage, file.load_usage(history));
  for (const std::string& note : join_names_of_one_machine(out.history, out.usage))
    tell("note: {}\n", note);
  out.catalog = Catalog::built_in().with_prices(history.prices);
  return out;
}

Result<Accounts> keep_accounts(const Records& records, CostBasis basis) {
  Accounts out;
  out.attribution = attribute(records.history, records.usage);
  TRY_ASSIGN(out.ledger, post(records.history, out.attribution.occupancy, records.catalog, {basis, records.history.period}));
  TRY(check_conservation(out.ledger));
  return out;
}

}  // namespace stint
