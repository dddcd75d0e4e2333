#include "cli/govern/accounts.h"

#include <algorithm>

#include "cli/output.h"
#include "cli/progress.h"
#include "ledger/one_currency.h"
#include "store/history_file.h"
#include "telemetry/gpu_identity.h"

namespace stint {

namespace {

bool says_anything(const Usage& usage) {
  const auto has_hours = [](const auto& metrics) {
    return std::ranges::any_of(metrics, [](const auto& metric) { return metric.second.count > 0; });
  };
  return std::ranges::any_of(usage.nodes, [&](const auto& node) { return has_hours(node.second); }) ||
         std::ranges::any_of(usage.devices, [&](const DeviceUsage& device) {
           return has_hours(device.metrics) ||
                  std::ranges::any_of(device.holders, [&](const auto& held) { return has_hours(held.metrics); });
         });
}

/// Exchange rates that anything of `history` may need: of the last year for prices, and of each line's day.
Interval days_of_rates(const History& history) {
  Instant first = history.happened.end - kHour * (366 * 24), last = history.happened.end;
  for (const BillLine& line : history.bill) {
    first = std::min(first, line.charge_period.begin);
    last = std::max(last, line.charge_period.begin);
  }
  return {first - kOldestExchangeRate, last + kHour * 24};
}

/// Without a choice a period is shown in its own currency, and a longer one may not be shown at all: that is said before it happens.
Status name_other_currencies(HistoryFile& file, Currency shown) {
  TRY_ASSIGN(std::vector<Currency> others, file.billed_currencies());
  std::erase(others, shown);
  if (others.empty()) return {};
  std::vector<std::string_view> codes;
  for (const Currency& other : others)
    codes.push_back(other.code());
  tell(
      "note: shown in {}, the currency of what was billed here; other bills of this History are in {}: `stint history currency` "
      "chooses one for all\n",
      shown.code(), fmt::join(codes, ", "));
  return {};
}

/// All amounts in the currency that was chosen for the History, else in that of its bill.
Status show_in_one_currency(HistoryFile& file, Records& records, HistoryNotes notes) {
  History& history = records.history;
  TRY_ASSIGN(std::optional<Currency> currency, file.shown_currency());
  if (!currency) {
    TRY_ASSIGN(currency, currency_of(history.bill));
    if (notes == HistoryNotes::kTell && currency) TRY(name_other_currencies(file, *currency));
  }
  TRY_ASSIGN(const std::vector<ExchangeRate> rates, file.load_exchange_rates(days_of_rates(history)));
  records.exchange = ExchangeRates(rates);
  if (!currency) return {};
  std::set<Currency> without_rate;
  TRY(convert(history, *currency, records.exchange, without_rate));
  records.catalog = records.catalog.with_prices(
      converted_prices(records.catalog.prices(), *currency, history.happened.end, records.exchange, without_rate));
  if (notes == HistoryNotes::kLeaveOut) return {};
  for (const Currency other : without_rate)
    tell("note: prices in {} are not used, because there is no exchange rate to {}: see stint import exchange-rates --help\n",
         other.code(), currency->code());
  return {};
}

}  // namespace

Result<Records> load_records(const std::string& path, Interval period, WithEstimates estimate, HistoryNotes notes) {
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
  out.estimate = estimate == WithEstimates::kYes;
  if (out.estimate && !period.empty()) {
    const Instant last = (period.end - Duration::nanoseconds(1)).hour_start();
    out.history.period = {period.begin.hour_start(), last + kHour};
  }
  TRY_ASSIGN(out.usage, file.load_usage(history));
  for (const std::string& note : join_names_of_one_machine(out.history, out.usage))
    if (notes == HistoryNotes::kTell) tell("note: {}\n", note);
  const bool ran = std::ranges::any_of(history.runs, [](const Run& run) { return run.started.has_value(); });
  if (!period.empty() && !out.estimate && history.bill.empty() && !ran && !says_anything(out.usage))
    return make_error(
        ErrorCode::kNotFound,
        "no data for {} to {}: neither a bill nor telemetry nor a job of that time is in {}{}; `stint bill --estimate` prices "
        "what the inventory says was there",
        format_date(period.begin), format_date(period.end - Duration::nanoseconds(1)), path,
        history.happened.empty() ? ""
                                 : fmt::format(", which knows {} to {}", format_date(history.happened.begin),
                                               format_date(history.happened.end - Duration::nanoseconds(1))));
  if (!period.empty()) out.period = out.estimate ? period : Interval{period.begin, std::min(period.end, history.period.end)};
  out.catalog = Catalog::built_in().with_prices(history.prices);
  TRY(show_in_one_currency(file, out, notes));
  return out;
}

Result<Accounts> keep_accounts(const Records& records, CostBasis basis) {
  Accounts out;
  out.attribution = attribute(records.history, records.usage);
  TRY_ASSIGN(out.ledger, post(records.history, out.attribution.occupancy, records.catalog,
                              {.basis = basis,
                               .period = records.period.empty() ? records.history.period : records.period,
                               .estimate = records.estimate}));
  TRY(check_conservation(out.ledger));
  return out;
}

}  // namespace stint
