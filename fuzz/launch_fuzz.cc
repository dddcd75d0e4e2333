// Any bytes are a plan of a launch, a report of a machine, rows of a record, or an error; what was read is written and read again as the same.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "launch/launch_decision.h"
#include "launch/launch_plan.h"
#include "launch/launch_record.h"
#include "launch/launch_report.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto plan = stint::parse_launch_plan(input, "fuzz"); plan.ok()) {
    const auto again = stint::parse_launch_plan(to_json(*plan), "again");
    CHECK(again.ok(), "{}", again.error().message);
    (void)stint::check_deadline(*plan);
  }
  if (const auto report = stint::parse_launch_report(input, "fuzz"); report.ok())
    CHECK(stint::parse_launch_report(to_json(*report), "again").ok(), "a report that was written cannot be read");
  stint::LaunchRecord record;
  for (const std::string_view row : stint::split(input, '\n'))
    (void)record.read_row(row);
  (void)record.saved();
  return 0;
}
