#include "ledger/one_currency.h"

#include "base/counted.h"
#include "ledger/line_cut.h"

namespace stint {
namespace {

/// A list price is not a payment: one that was converted half a year ago still tells what is cheap.
constexpr Duration kOldestRateOfPrices = Duration::hours(366 * 24);

std::string name_of_line(const BillLine& line) {
  const std::string& what = !line.resource_id.empty() ? line.resource_id : line.description;
  return fmt::format("{} {} {}{}{}", line.provider, line.billing_account, format_date(line.charge_period.begin),
                     what.empty() ? "" : " ", what);
}

class LineConverter {
 public:
  LineConverter(Currency to, const ExchangeRates& rates) : to_(to), rates_(rates) {}

  Status convert(BillLine& line) {
    const Instant at = line.charge_period.begin;
    TRY(convert_amount(line.billed, at));
    TRY(convert_amount(line.effective, at));
    if (line.list) TRY(convert_amount(*line.list, at));
    if (line.contracted) TRY(convert_amount(*line.contracted, at));
    if (line.list_unit_price) {
      TRY_ASSIGN(const Money price, rates_.convert(line.list_unit_price->per_hour(), to_, at));
      line.list_unit_price = Rate::per_hour(price);
    }
    return {};
  }

 private:
  Status convert_amount(Money& amount, Instant at) const {
    TRY_ASSIGN(amount, rates_.convert(amount, to_, at));
    return {};
  }

  Currency to_;
  const ExchangeRates& rates_;
};

bool is_in(const BillLine& line, Currency c) {
  const auto is = [c](const std::optional<Money>& amount) { return !amount || amount->currency() == c; };
  return is(line.billed) && is(line.effective) && is(line.list) && is(line.contracted) &&
         (!line.list_unit_price || line.list_unit_price->per_hour().currency() == c);
}

/// @return none where there is no rate, which is noted.
std::optional<Rate> converted_rate(Rate rate, Currency to, Instant at, const ExchangeRates& rates,
                                   std::set<Currency>& without_rate) {
  const auto price = rates.convert(rate.per_hour(), to, at, kOldestRateOfPrices);
  if (price.ok()) return Rate::per_hour(*price);
  without_rate.insert(rate.per_hour().currency());
  return std::nullopt;
}

}  // namespace

Result<std::optional<Currency>> currency_of(std::span<const BillLine> bill) {
  std::map<Currency, size_t> lines;
  for (const BillLine& line : bill) {
    if (!line.billed.is_zero()) ++lines[line.billed.currency()];
    if (!line.effective.is_zero() && (line.billed.is_zero() || line.effective.currency() != line.billed.currency()))
      ++lines[line.effective.currency()];
  }
  if (lines.size() <= 1) return lines.empty() ? std::optional<Currency>() : std::optional(lines.begin()->first);
  std::string found;
  for (const auto& [currency, count] : lines)
    found += fmt::format("{}{} in {}", found.empty() ? "" : ", ", counted(count, "line"), currency.code());
  return invalid(
      "the bills are in several currencies ({}): say in which one to show them (stint history currency FILE CODE), and take in "
      "exchange rates (stint import exchange-rates)",
      found);
}

Status convert(History& history, Currency to, const ExchangeRates& rates, std::set<Currency>& without_rate) {
  LineConverter converter(to, rates);
  for (BillLine& line : history.bill) {
    if (is_in(line, to)) continue;
    const Money before = line.billed.is_zero() ? line.effective : line.billed;
    if (const Status converted = converter.convert(line); !converted.ok())
      return Error{converted.error().code, fmt::format("{}: {}", name_of_line(line), converted.error().message)};
    if (before.currency() != to && !before.is_zero()) ++history.converted[before.currency()];
  }
  const auto in_one = [&](Rate& rate) {
    if (rate.per_hour().currency() == to) return;
    if (const auto other = converted_rate(rate, to, history.happened.end, rates, without_rate)) rate = *other;
  };
  for (Node& node : history.nodes) {
    if (node.rate) in_one(*node.rate);
    for (RatePoint& of : node.rates)
      in_one(of.rate);
  }
  return {};
}

std::vector<PriceRow> converted_prices(std::span<const PriceRow> prices, Currency to, Instant happened_until,
                                       const ExchangeRates& rates, std::set<Currency>& without_rate) {
  std::vector<PriceRow> out;
  for (const PriceRow& price : prices) {
    if (price.rate.per_hour().currency() == to) continue;
    const auto rate = converted_rate(price.rate, to, happened_until, rates, without_rate);
    if (!rate) continue;
    out.push_back(price);
    out.back().rate = *rate;
  }
  return out;
}

Status convert(std::vector<RevenueRow>& revenue, Interval period, Currency to, const ExchangeRates& rates) {
  for (RevenueRow& row : revenue) {
    if (intersect(row.month, period).empty()) continue;
    const auto converted = rates.convert(row.revenue, to, row.month.begin);
    if (!converted.ok()) return invalid("line {}: {}", row.line, converted.error().message);
    row.revenue = *converted;
    if (!row.cost_budget) continue;
    const auto budget = rates.convert(*row.cost_budget, to, row.month.begin);
    if (!budget.ok()) return invalid("line {}: {}", row.line, budget.error().message);
    row.cost_budget = *budget;
  }
  return {};
}

Status convert(std::vector<ClientBudget>& budgets, Interval month, Currency to, const ExchangeRates& rates) {
  for (ClientBudget& row : budgets) {
    if (row.month && row.month->begin != month.begin) continue;
    const auto converted = rates.convert(row.budget, to, row.month.value_or(month).begin);
    if (!converted.ok()) return invalid("line {}: {}", row.line, converted.error().message);
    row.budget = *converted;
  }
  return {};
}

void show_as_billed(Ledger& ledger, const History& history, std::span<const BillLine> bill) {
  CHECK(bill.size() == history.bill.size(), "{} lines, {} converted", bill.size(), history.bill.size());
  LedgerLines lines;
  lines.reserve(ledger.lines.size());
  size_t at = 0;
  // The ledger's lines are those of the bill that touch its period, in their order, and then what has no bill.
  for (size_t i = 0; i < bill.size(); ++i) {
    const auto cut = cut_of(history.bill[i], ledger.period);
    if (!cut) continue;
    BillLine line = history.bill[i];
    line.billed = bill[i].billed;
    line.effective = bill[i].effective;
    line.list = bill[i].list;
    line.contracted = bill[i].contracted;
    line.list_unit_price = bill[i].list_unit_price;
    lines.push_back(cut_line(line, *cut));
    ++at;
  }
  for (; at < ledger.lines.size(); ++at)
    lines.push_back(ledger.lines[at]);
  ledger.lines = std::move(lines);
}

}  // namespace stint
