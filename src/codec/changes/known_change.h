// Known future changes of a demand as a person writes them:
//
//   2026-12-01:+40                 40 more from then on (in the unit of the series)
//   2026-12-01:x1.5                half as much again
//   2026-12-24..2027-01-02:x0.3    only until then
#pragma once

#include <string_view>

#include "base/result.h"
#include "telemetry/forecast.h"

namespace stint {

/// Times as parse_instant() takes them. @return error that says what is expected.
Result<KnownChange> parse_known_change(std::string_view text);

}  // namespace stint
