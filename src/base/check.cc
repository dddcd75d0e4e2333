#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace stint {

void check_failed(const char* file, int line, const char* condition, std::string_view what) {
  fmt::print(stderr, "{}:{}: broken invariant: {} ({})\n", file, line, what, condition);
  std::abort();
}

}  // namespace stint
