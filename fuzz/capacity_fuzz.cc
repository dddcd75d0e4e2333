// Any bytes are rows of machines or an error; what was read is written and read again as the same. A program's list likewise.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/capacity/program_capacity.h"
#include "base/check.h"
#include "base/text.h"
#include "capacity/capacity_book.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  (void)stint::read_program_list(input, "fuzz");
  std::vector<std::string> rows;
  for (const std::string_view line : stint::split(input, '\n'))
    rows.emplace_back(line);
  const auto book = stint::CapacityBook::recover({}, rows, {});
  if (!book.ok()) return 0;
  const auto again = stint::CapacityBook::recover({}, book->compacted(), {});
  CHECK(again.ok(), "{}", again.error().message);
  return 0;
}
