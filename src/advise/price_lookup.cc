#include "advise/price_lookup.h"

namespace stint {

const PriceLookup::Quote* PriceLookup::find(const Where& where, Market market, CommitmentTerm term) const {
  auto [it, added] = quotes_.try_emplace(Key{where, market, term});
  if (added) {
    const auto row = catalog_.price({.provider = where.provider,
                                     .instance_type = where.instance_type,
                                     .region = where.region,
                                     .market = market,
                                     .term = term});
    if (row.ok() && row->rate.per_hour().currency() == currency_ && row->rate.per_hour().count_nanos() > 0)
      it->second = Quote{row->rate.per_hour(), *row};
  }
  return it->second ? &*it->second : nullptr;
}

std::vector<const PriceRow*> PriceLookup::used() const {
  std::vector<const PriceRow*> rows;
  for (const auto& [key, quote] : quotes_)
    if (quote) rows.push_back(&quote->row);
  return rows;
}

}  // namespace stint
