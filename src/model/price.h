// Prices of instance types: one row per provider, region, type, market and commitment.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/money.h"
#include "base/time.h"
#include "model/fleet.h"

namespace stint {

enum class CommitmentTerm { kNone, kOneYear, kThreeYears };
enum class PaymentOption { kNone, kNoUpfront, kPartialUpfront, kAllUpfront };
std::string_view name_of(CommitmentTerm t);  // "", "1y", "3y"
std::string_view name_of(PaymentOption p);   // "", "no-upfront", "partial-upfront", "all-upfront"
Result<CommitmentTerm> parse_commitment_term(std::string_view text);
Result<PaymentOption> parse_payment_option(std::string_view text);

struct PriceRow {
  std::string provider;
  std::string region;
  std::string instance_type;
  Market market = Market::kOnDemand;
  CommitmentTerm term = CommitmentTerm::kNone;   ///< kReserved only
  PaymentOption payment = PaymentOption::kNone;  ///< kReserved only
  Rate rate;                                     ///< for the whole instance; upfront payments spread over the term
  bool estimated = false;                        ///< derived (say, list × spot advisor), not quoted
  std::string source;
  Instant as_of;
};

/// No instance costs more than this an hour; it keeps a year of it within 64 bits.
inline constexpr int64_t kMaxUnitsPerHour = 1'000'000;
/// @return error when it is no decimal number above zero and up to kMaxUnitsPerHour.
Result<Rate> parse_price_per_hour(std::string_view text, Currency currency = {});

/// A row of a price list as text: the columns of catalog/prices.csv and of `stint import prices`.
struct PriceText {
  std::string_view provider, region, instance_type, market, term, payment, per_hour, currency, estimated, source, as_of;
};
inline constexpr std::array<std::string_view, 11> kPriceColumns = {
    "provider", "region", "instance_type", "market", "term", "payment", "per_hour", "currency", "estimated", "source", "as_of"};

/// Empty currency is USD, empty `estimated` is no. @return error naming the column: a name is missing, a price is not
/// above zero, or a term does not fit the market.
Result<PriceRow> parse_price(const PriceText& text);

}  // namespace stint
