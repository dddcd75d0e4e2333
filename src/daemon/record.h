// What the engine writes into its log, and reads again: one record for each thing it was told or that happened.
//
// Payloads are JSON objects, format stint-log/1 in docs/formats.md. Kinds have the order in which those of one step are
// applied, which is the scheduler's for events of one instant (sched/decision.h). Numbers are on disk: never renumber.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "base/result.h"
#include "daemon/job_request.h"
#include "daemon/json_fields.h"
#include "store/event_log.h"

namespace stint {

enum class RecordKind : int32_t {
  kFleet = 1,        ///< machines, queues and policy from now on
  kNodeUp = 10,      ///< takes tasks (again)
  kNodeDrain = 11,   ///< takes no new task
  kNodeDown = 12,    ///< its tasks are lost
  kEnded = 20,       ///< a task has ended
  kLost = 21,        ///< a task is gone, nobody knows how
  kCheckpoint = 30,  ///< a job has saved its work
  kCancel = 40,
  kHold = 41,
  kRelease = 42,
  kSubmit = 50,
  kTick = 90,  ///< only time has passed
};

/// A record in hand; what its kind does not have is empty.
struct Record {
  RecordKind kind = RecordKind::kTick;
  std::string actor;
  int64_t job = 0;     ///< of kSubmit: the id it (the first of an array) gets
  JobRequest request;  ///< kSubmit
  std::string node;    ///< kNode…
  std::string fleet;   ///< kFleet: its JSON
  Report report;       ///< kEnded, kLost
};

LogRecord encode(const Record& record);
/// @return error when the payload is none that encode() makes.
Result<Record> decode(JsonParser& parser, int32_t kind, std::string_view payload);

}  // namespace stint
