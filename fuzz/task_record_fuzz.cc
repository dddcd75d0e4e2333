// Any bytes are a sound record of a task, of a supervisor, of its copies, of a clock or an error; what was read can be written and read back the same.
#include <cstdint>

#include "backends/local/task_record.h"
#include "backends/supervise/copy_record.h"
#include "backends/supervise/restore_point.h"
#include "backends/supervise/supervisor_state.h"
#include "base/check.h"
#include "host/event_clock.h"

namespace {

template <typename Record>
void check(stint::Result<Record> (*parse)(std::string_view, const std::string&), std::string_view input) {
  const auto record = parse(input, "fuzz");
  if (!record.ok()) return;
  const std::string text = stint::to_json(*record);
  const auto again = parse(text, "fuzz");
  CHECK(again.ok(), "what was written is refused: {}", again.error().message);
  CHECK(stint::to_json(*again) == text, "writing is not stable");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check<stint::TaskPlan>(stint::parse_task_plan, input);
  check<stint::TaskStarted>(stint::parse_task_started, input);
  check<stint::TaskEnded>(stint::parse_task_ended, input);
  check<stint::SupervisorState>(stint::parse_supervisor_state, input);
  check<stint::CopyRecord>(stint::parse_copy_record, input);
  (void)stint::parse_copy_answer(input);
  check<stint::RestorePoint>([](std::string_view json, const std::string&) { return stint::parse_restore_point(json); }, input);
  check<stint::ClockMark>([](std::string_view json, const std::string&) { return stint::parse_clock_mark(json); }, input);
  return 0;
}
