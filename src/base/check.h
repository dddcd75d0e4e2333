// Invariants that stay on in release builds.
//
// A failed CHECK is a defect in Stint, never a consequence of bad input: bad input is a Result.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace stint {

/// Prints `file:line: what` and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view what);

}  // namespace stint

/// CHECK(count > 0, "count is {}", count): aborts with the values when the condition does not hold.
#define CHECK(condition, ...)                                                            \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::stint::check_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
  } while (false)
