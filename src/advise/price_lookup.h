// Prices as the audit asks for them: of one currency, remembered, and absent rather than wrong.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "catalog/catalog.h"

namespace stint {

class PriceLookup {
 public:
  /// @param catalog  must outlive this. @param currency  of the bill: prices in another one are not used.
  PriceLookup(const Catalog& catalog, Currency currency) : catalog_(catalog), currency_(currency) {}

  struct Quote {
    Money hourly;
    PriceRow row;
  };
  struct Where {
    std::string provider;
    std::string instance_type;
    std::string region;  ///< empty = the cheapest
    auto operator<=>(const Where&) const = default;
  };
  /// nullptr when no price is known in the bill's currency.
  /// @param payment  kNone: the cheapest; else of a commitment in that very region.
  const Quote* find(const Where& where, Market market, CommitmentTerm term = CommitmentTerm::kNone,
                    PaymentOption payment = PaymentOption::kNone) const;
  [[nodiscard]] const Catalog& catalog() const { return catalog_; }
  [[nodiscard]] Currency currency() const { return currency_; }

 private:
  [[nodiscard]] Result<PriceRow> commitment(const Where& where, CommitmentTerm term, PaymentOption payment) const;

  using Key = std::tuple<Where, Market, CommitmentTerm, PaymentOption>;
  const Catalog& catalog_;
  Currency currency_;
  mutable std::map<Key, std::optional<Quote>> quotes_;  // a cache: the answers are the catalogue's
};

}  // namespace stint
