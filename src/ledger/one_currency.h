// A History in one currency. Bills are kept as they came; before they are shared out, added up or compared, every amount is
// converted: once, at the rate of one day, so that parts of a line still sum to it.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ledger/exchange_rates.h"
#include "ledger/ledger.h"
#include "model/client_budget.h"
#include "model/history.h"
#include "model/revenue.h"

namespace stint {

/// Of bills, lines without an amount not counted. @return none when no line has an amount.
/// @return error naming the amounts and the remedy when there are several.
Result<std::optional<Currency>> currency_of(std::span<const BillLine> bill);

/// Bill lines at the rate of the day on which their charge begins; rates of machines like prices. History::prices stay as they are.
/// @param without_rate  currencies of machines' rates that stay as they are are added.
/// @return error naming the line when there is no rate for it, or when an amount is too large for that currency.
Status convert(History& history, Currency to, const ExchangeRates& rates, std::set<Currency>& without_rate);

/// Those of `prices` that are in other currencies, to be laid over a catalogue: at the latest rate known at the last sign of anything
/// (History::happened), so that all parts of a period are priced alike. @param without_rate  currencies of those that are left out are added.
std::vector<PriceRow> converted_prices(std::span<const PriceRow> prices, Currency to, Instant happened_until,
                                       const ExchangeRates& rates, std::set<Currency>& without_rate);

/// What was agreed for a month that touches `period`, at the rate of the month's first day; other months stay as they are.
/// @return error naming the line.
Status convert(std::vector<RevenueRow>& revenue, Interval period, Currency to, const ExchangeRates& rates);
/// The same of budgets that hold in `month`.
Status convert(std::vector<ClientBudget>& budgets, Interval month, Currency to, const ExchangeRates& rates);

/// Gives the ledger's lines the amounts that the bills say. Postings stay as they are.
/// @param bill  that of the ledger's History before it was converted: as many lines.
void show_as_billed(Ledger& ledger, const History& history, std::span<const BillLine> bill);

}  // namespace stint
