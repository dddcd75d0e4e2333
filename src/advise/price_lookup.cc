#include "advise/price_lookup.h"

namespace stint {

const PriceLookup::Quote* PriceLookup::find(const Where& where, Market market, CommitmentTerm term, PaymentOption payment) const {
  auto [it, added] = quotes_.try_emplace(Key{where, market, term, payment});
  if (added) {
    const auto row = payment == PaymentOption::kNone ? catalog_.price({.provider = where.provider,
                                                                       .instance_type = where.instance_type,
                                                                       .region = where.region,
                                                                       .market = market,
                                                                       .term = term})
                                                     : commitment(where, term, payment);
    if (row.ok() && row->rate.per_hour().currency() == currency_ && row->rate.per_hour().count_nanos() > 0)
      it->second = Quote{row->rate.per_hour(), *row};
  }
  return it->second ? &*it->second : nullptr;
}

Result<PriceRow> PriceLookup::commitment(const Where& where, CommitmentTerm term, PaymentOption payment) const {
  for (const PriceRow& row : catalog_.price_range(where.provider, where.instance_type))
    if (row.region == where.region && row.market == Market::kReserved && row.term == term && row.payment == payment) return row;
  return make_error(ErrorCode::kNotFound, "no {} {} price of {} in {}", name_of(term), name_of(payment), where.instance_type,
                    where.region);
}

}  // namespace stint
