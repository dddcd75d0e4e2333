#include "model/price.h"

#include <array>

#include "base/text.h"

namespace stint {
namespace {

Result<bool> parse_yes_no(std::string_view text) {
  const std::string word = to_lower(trim(text));
  if (word.empty() || word == "no" || word == "false" || word == "0") return false;
  if (word == "yes" || word == "true" || word == "1") return true;
  return invalid("estimated '{}': write yes or no", excerpt(text));
}

}  // namespace

std::string_view name_of(CommitmentTerm t) {
  constexpr std::array<std::string_view, 3> kNames = {"", "1y", "3y"};
  return kNames[static_cast<size_t>(t)];
}

std::string_view name_of(PaymentOption p) {
  constexpr std::array<std::string_view, 4> kNames = {"", "no-upfront", "partial-upfront", "all-upfront"};
  return kNames[static_cast<size_t>(p)];
}

Result<CommitmentTerm> parse_commitment_term(std::string_view text) {
  for (const auto t : {CommitmentTerm::kNone, CommitmentTerm::kOneYear, CommitmentTerm::kThreeYears})
    if (equals_ignoring_case(name_of(t), trim(text))) return t;
  return invalid("term '{}': write 1y, 3y or nothing", excerpt(text));
}

Result<PaymentOption> parse_payment_option(std::string_view text) {
  for (const auto p :
       {PaymentOption::kNone, PaymentOption::kNoUpfront, PaymentOption::kPartialUpfront, PaymentOption::kAllUpfront})
    if (equals_ignoring_case(name_of(p), trim(text))) return p;
  return invalid("payment '{}': write no-upfront, partial-upfront, all-upfront or nothing", excerpt(text));
}

Result<Rate> parse_price_per_hour(std::string_view text, Currency currency) {
  TRY_ASSIGN(const Rate rate, Rate::parse_per_hour(trim(text), currency));
  if (rate.per_hour().count_nanos() <= 0)
    return invalid("per_hour '{}' is not above zero: leave the row out when the price is not known", excerpt(text));
  if (rate.per_hour() > Money::units(kMaxUnitsPerHour, currency))
    return invalid("per_hour '{}' is above a million: is it in another unit?", excerpt(text));
  return rate;
}

Result<PriceRow> parse_price(const PriceText& text) {
  PriceRow row;
  row.provider = to_lower(trim(text.provider));
  row.region = trim(text.region);
  row.instance_type = trim(text.instance_type);
  row.source = trim(text.source);
  if (row.provider.empty()) return invalid("provider is empty: write aws, gcp, azure or another name");
  if (row.region.empty()) return invalid("region is empty: a price holds in one region");
  if (row.instance_type.empty()) return invalid("instance_type is empty");
  TRY_ASSIGN(row.market, parse_market(text.market));
  TRY_ASSIGN(row.term, parse_commitment_term(text.term));
  TRY_ASSIGN(row.payment, parse_payment_option(text.payment));
  if (row.market != Market::kReserved && (row.term != CommitmentTerm::kNone || row.payment != PaymentOption::kNone))
    return invalid("term and payment belong to market reserved, not {}", name_of(row.market));
  if (row.market == Market::kReserved && row.term == CommitmentTerm::kNone)
    return invalid("a reserved price needs its term: 1y or 3y");
  if (row.market == Market::kUnknown) return invalid("market is unknown: write on-demand, spot, reserved or owned");
  Currency currency;
  if (!trim(text.currency).empty()) {
    TRY_ASSIGN(currency, Currency::parse(trim(text.currency)));
  }
  TRY_ASSIGN(row.rate, parse_price_per_hour(text.per_hour, currency));
  TRY_ASSIGN(row.estimated, parse_yes_no(text.estimated));
  if (row.source.empty()) return invalid("source is empty: say where the price comes from");
  TRY_ASSIGN(row.as_of, parse_instant(trim(text.as_of)));
  return row;
}

}  // namespace stint
