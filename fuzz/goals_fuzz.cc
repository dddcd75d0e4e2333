// Any bytes are goals or an error; a goal's own text is read as the same goal.
#include <cstdint>

#include "advise/goals.h"
#include "advise/plan/assumed_prices.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)stint::parse_assumed_discounts({reinterpret_cast<const char*>(data), size});
  const auto goals = stint::parse_goals({reinterpret_cast<const char*>(data), size});
  if (!goals.ok()) return 0;
  for (const stint::Goal& goal : *goals) {
    const auto again = stint::parse_goal(goal.text);
    CHECK(again.ok(), "'{}' is refused: {}", goal.text, again.error().message);
    CHECK(again->bound == goal.bound && again->measure == goal.measure && again->text == goal.text, "'{}' changes", goal.text);
  }
  return 0;
}
