// Amounts as people read them: as many digits as say something. JSON, CSV and audits keep all of them.
#pragma once

#include <string>

#include "base/money.h"

namespace stint {

/// "47,000.00", "1.624", "0.0113", "0.0000008": two decimals; up to four where the amount has no more than four, or is below 1; below
/// a hundredth of a cent the two digits that count. Without the currency.
std::string short_amount(Money m);
/// The same with the currency: "0.0113 USD".
std::string short_money(Money m);
/// Every decimal that matters, two at least: "30.000000001 USD", "47,000.00 USD".
std::string exact_money(Money m);

}  // namespace stint
