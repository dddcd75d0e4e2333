#include "codec/changes/known_change.h"

#include <cmath>

#include "base/text.h"

namespace stint {

Result<KnownChange> parse_known_change(std::string_view text) {
  const auto refuse = [&] {
    return invalid("'{}' is no known change; expected WHEN:+AMOUNT, WHEN:-AMOUNT or WHEN:xFACTOR, and WHEN a date or FROM..UNTIL",
                   excerpt(text));
  };
  // Times may hold colons: the last one ends them.
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 2 > text.size()) return refuse();
  KnownChange change;
  change.note = text;
  const std::string_view when = trim(text.substr(0, colon));
  const size_t dots = when.find("..");
  TRY_ASSIGN(change.from, parse_instant(when.substr(0, dots)));
  if (dots != std::string_view::npos) {
    TRY_ASSIGN(change.until, parse_instant(when.substr(dots + 2)));
  }
  const char sign = text[colon + 1];
  const std::optional<double> amount = parse_number(text.substr(colon + 2));
  if (!amount || std::signbit(*amount) || (sign != '+' && sign != '-' && sign != 'x')) return refuse();
  if (sign == 'x')
    change.factor = *amount;
  else
    change.plus = sign == '-' ? -*amount : *amount;
  return change;
}

}  // namespace stint
