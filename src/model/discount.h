// Which of two prices is the greater discount: what a savings plan pays for first. Exact, so that no rounding decides an order.
#pragma once

#include "base/money.h"

namespace stint {

/// What is paid for each unit of the list price is less for the first than for the second. @param list, other_list  above 0.
inline bool is_greater_discount(Money paid, Money list, Money other_paid, Money other_list) {
  __extension__ using Wide = __int128;
  return static_cast<Wide>(paid.count_nanos()) * other_list.count_nanos() <
         static_cast<Wide>(other_paid.count_nanos()) * list.count_nanos();
}

}  // namespace stint
