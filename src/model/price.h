// Prices of instance types: one row per provider, region, type, market and commitment.
#pragma once

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

struct PriceRow {
  std::string provider;
  std::string region;
  std::string instance_type;
  Market market = Market::kOnDemand;
  CommitmentTerm term = CommitmentTerm::kNone;       ///< kReserved only
  PaymentOption payment = PaymentOption::kNone;      ///< kReserved only
  Rate rate;                                         ///< for the whole instance; upfront payments spread over the term
  bool estimated = false;                            ///< derived (say, list × spot advisor), not quoted
  std::string source;
  Instant as_of;
};

}  // namespace stint
