// The invoice view of imported bills: what each provider bills to each account in a month, with fees paid up front in full and
// corrections in the month they are billed, beside what the invoice says; and how it leads to amortised cost.
//
// The basis is FOCUS's BilledCost, which a provider's invoice sums to within a billing period (FOCUS 1.2, "BilledCost").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "model/bill.h"

namespace stint {

/// What a provider's invoice says.
struct InvoiceTotal {
  std::string provider;  ///< canonical
  std::string account;
  std::string invoice;  ///< its number; empty = all of the account in the month
  Interval month;       ///< the billing period's UTC calendar month
  Money total;
  uint64_t line = 0;  ///< of the file, for messages
};

/// One account in one billing month, in one currency; by invoice where totals are given by invoice.
struct InvoiceRow {
  std::string provider;
  std::string account;
  std::string invoice;
  Interval month;
  uint64_t lines = 0;
  // As billed; they sum to `imported`.
  Money usage;
  Money purchases;  ///< fees of commitments and other purchases, in full
  Money credits;    ///< credits and adjustments
  Money tax;
  Money corrections;  ///< of whatever month
  Money imported;
  // From there to amortised cost: effective = imported − fees_spread + fees_used.
  Money fees_spread;  ///< of purchases, what is spread over what they cover
  Money fees_used;    ///< of everything else, what such fees paid for
  Money effective;
  std::optional<Money> invoiced;  ///< none = no total is given
  [[nodiscard]] std::optional<Money> difference() const;
  /// To the cent, for invoices are rounded to it. False without a total.
  [[nodiscard]] bool matches() const;
};

struct Reconciliation {
  std::vector<InvoiceRow> rows;            ///< ascending by provider, account, month, invoice, currency
  [[nodiscard]] size_t given() const;      ///< rows with a total
  [[nodiscard]] size_t differing() const;  ///< of them, those that do not match
};

/// The month that bills a line: that of its billing period, else of its charge.
Interval invoice_month(const BillLine& line);

/// @param lines   of the billing months wanted, in any currencies.
/// @param totals  of the same months. One without a line is a separate row.
/// @return error when two totals are for the same, when an account has totals both with and without an invoice number in a month, or
/// when a line's billed and effective cost are in two currencies.
Result<Reconciliation> reconcile(std::span<const BillLine> lines, std::span<const InvoiceTotal> totals);

}  // namespace stint
