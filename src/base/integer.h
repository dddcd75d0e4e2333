// Integer arithmetic that the language does not have.
#pragma once

#include <cstdint>

namespace stint {

/// Quotient rounded towards minus infinity. @param b  above 0
constexpr int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace stint
