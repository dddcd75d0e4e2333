#include "ledger/invoice.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace stint {
namespace {

/// Provider, account, begin of the month, currency.
using AccountMonth = std::tuple<std::string, std::string, int64_t, Currency>;

constexpr int64_t kHalfACent = 5'000'000;

/// An amount of zero may be in no currency in particular.
Result<Currency> currency_of_line(const BillLine& line) {
  if (line.billed.is_zero()) return line.effective.is_zero() ? line.billed.currency() : line.effective.currency();
  if (!line.effective.is_zero() && line.effective.currency() != line.billed.currency())
    return invalid("a line of {} {} is billed in {} and amortised in {}: import one export of one currency", line.provider,
                   line.billing_account, line.billed.currency().code(), line.effective.currency().code());
  return line.billed.currency();
}

Money in_currency(Money m, Currency c) { return m.is_zero() ? Money::nanos(0, c) : m; }

InvoiceRow empty_row(std::string provider, std::string account, std::string invoice, Interval month, Currency currency) {
  const Money zero = Money::nanos(0, currency);
  InvoiceRow row;
  row.provider = std::move(provider);
  row.account = std::move(account);
  row.invoice = std::move(invoice);
  row.month = month;
  for (Money InvoiceRow::* amount :
       {&InvoiceRow::usage, &InvoiceRow::purchases, &InvoiceRow::credits, &InvoiceRow::tax, &InvoiceRow::corrections,
        &InvoiceRow::imported, &InvoiceRow::fees_spread, &InvoiceRow::fees_used, &InvoiceRow::effective})
    row.*amount = zero;
  return row;
}

Money InvoiceRow::* head_of(const BillLine& line) {
  if (line.correction) return &InvoiceRow::corrections;
  switch (line.category) {
    case ChargeCategory::kUsage: return &InvoiceRow::usage;
    case ChargeCategory::kPurchase: return &InvoiceRow::purchases;
    case ChargeCategory::kTax: return &InvoiceRow::tax;
    case ChargeCategory::kCredit:
    case ChargeCategory::kAdjustment: break;
  }
  return &InvoiceRow::credits;
}

void add_line(InvoiceRow& row, const BillLine& line, Currency currency) {
  const Money billed = in_currency(line.billed, currency), effective = in_currency(line.effective, currency);
  ++row.lines;
  row.*head_of(line) += billed;
  row.imported += billed;
  row.effective += effective;
  if (line.category == ChargeCategory::kPurchase)
    row.fees_spread += billed - effective;
  else
    row.fees_used += effective - billed;
}

std::string text_of(const InvoiceTotal& t) {
  return fmt::format("{} {} of {}{}{}", t.provider, t.account, format_date(t.month.begin).substr(0, 7),
                     t.invoice.empty() ? "" : ", invoice ", t.invoice);
}

}  // namespace

std::optional<Money> InvoiceRow::difference() const { return invoiced ? std::optional(imported - *invoiced) : std::nullopt; }

bool InvoiceRow::matches() const {
  const auto d = difference();
  return d && d->count_nanos() <= kHalfACent && d->count_nanos() >= -kHalfACent;
}

size_t Reconciliation::given() const {
  return static_cast<size_t>(std::ranges::count_if(rows, [](const InvoiceRow& r) { return r.invoiced.has_value(); }));
}

size_t Reconciliation::differing() const {
  return static_cast<size_t>(std::ranges::count_if(rows, [](const InvoiceRow& r) { return r.invoiced && !r.matches(); }));
}

Interval invoice_month(const BillLine& line) {
  return month_of(line.billing_period.empty() ? line.charge_period.begin : line.billing_period.begin);
}

Result<Reconciliation> reconcile(std::span<const BillLine> lines, std::span<const InvoiceTotal> totals) {
  std::map<AccountMonth, bool> by_invoice;  // of those with totals
  std::map<std::pair<AccountMonth, std::string>, InvoiceRow> rows;
  for (const InvoiceTotal& t : totals) {
    const AccountMonth key{t.provider, t.account, t.month.begin.ns(), t.total.currency()};
    const auto [at, fresh] = by_invoice.try_emplace(key, !t.invoice.empty());
    if (!fresh && at->second == t.invoice.empty())
      return invalid("line {}: {}: there are totals with and without an invoice number: give one or the other", t.line,
                     text_of(t));
    const auto [row, first] = rows.try_emplace({key, t.invoice});
    if (!first) return invalid("line {}: {} has a total already", t.line, text_of(t));
    row->second = empty_row(t.provider, t.account, t.invoice, t.month, t.total.currency());
    row->second.invoiced = t.total;
  }
  for (const BillLine& line : lines) {
    TRY_ASSIGN(const Currency currency, currency_of_line(line));
    const Interval month = invoice_month(line);
    const AccountMonth key{line.provider, line.billing_account, month.begin.ns(), currency};
    const auto split = by_invoice.find(key);
    const std::string invoice = split != by_invoice.end() && split->second ? line.invoice_id : std::string();
    const auto [row, fresh] = rows.try_emplace({key, invoice});
    if (fresh) row->second = empty_row(line.provider, line.billing_account, invoice, month, currency);
    add_line(row->second, line, currency);
  }
  // Zero in no currency in particular is no bill in another one.
  const auto is_nothing = [](const InvoiceRow& row) {
    return !row.invoiced && row.imported.is_zero() && row.effective.is_zero();
  };
  std::set<std::tuple<std::string, std::string, int64_t>> with_money;
  for (const auto& [key, row] : rows)
    if (!is_nothing(row)) with_money.insert({row.provider, row.account, row.month.begin.ns()});
  Reconciliation out;
  for (auto& [key, row] : rows)
    if (!is_nothing(row) || !with_money.contains({row.provider, row.account, row.month.begin.ns()}))
      out.rows.push_back(std::move(row));
  return out;
}

}  // namespace stint
