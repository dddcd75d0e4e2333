// Times as people read them, beside amounts (base/short_money.h).
#pragma once

#include <string>
#include <string_view>

#include "base/short_money.h"
#include "base/time.h"

namespace stint {

/// "2026-10-01 00:00:05", UTC, the second begun.
std::string short_utc(Instant t);
/// The same of a time in JSON; text that is no time stays as it is.
std::string short_utc(std::string_view text);

}  // namespace stint
