// What the engine writes into its log, and reads again: one record for each thing it was told or that happened.
//
// Payloads are JSON objects, format stint-log/1 in docs/formats.md. Kinds have the order in which those of one step are
// applied, which is the scheduler's for events of one instant (sched/decision.h). Numbers are on disk: never renumber.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "base/result.h"
#include "daemon/api/job_request.h"
#include "daemon/engine/views.h"
#include "daemon/json_fields.h"
#include "sim/run_durations.h"
#include "store/event_log.h"

namespace stint {

enum class RecordKind : int32_t {
  kFleet = 1,        ///< machines, queues and policy from now on
  kBudget = 2,       ///< a budget from now on, in place of the one of its name
  kBudgetGone = 3,   ///< no longer
  kForget = 5,       ///< of the jobs that have ended, all but the last so many leave memory
  kLearn = 6,        ///< how long jobs ran elsewhere, or before: from a History
  kMachine = 9,      ///< the backend has found a machine, or one that was away is back, or costs something else
  kNodeUp = 10,      ///< takes tasks (again)
  kNodeDrain = 11,   ///< takes no new task
  kNodeDown = 12,    ///< its tasks are lost
  kNodeClear = 13,   ///< will be gone soon: what runs there is told to leave
  kNodeGone = 14,    ///< likewise, and for good: it is forgotten
  kEnded = 20,       ///< a task has ended
  kLost = 21,        ///< a task is gone, how is not known
  kCheckpoint = 30,  ///< a job has saved its work
  kTrial = 31,       ///< a trial has told how good it is
  kCancel = 40,
  kHold = 41,
  kRelease = 42,
  kApprove = 43,  ///< a job that waited for it
  kRefuse = 44,   ///< likewise: it ends
  kSubmit = 50,
  kAdopt = 51,   ///< a job of others runs on `nodes` of its cluster already
  kNotice = 80,  ///< something for the stream of events that changes no state: an alert
  kTick = 90,    ///< only time has passed
};

/// A record in hand; what its kind does not have is empty.
struct Record {
  RecordKind kind = RecordKind::kTick;
  std::string actor;
  int64_t job = 0;     ///< of kSubmit: the id it (the first of an array) gets
  int64_t number = 0;  ///< kSubmit: likewise within its client; 0 = its id, as it was before clients had their own counts
  int64_t keep = 0;    ///< kForget
  JobRequest request;  ///< kSubmit
  std::string node;    ///< kNode…
  std::vector<std::string> nodes = {};  ///< kAdopt
  std::string machine;                  ///< kMachine: its JSON
  /// kNodeDrain, kNodeDown, kNodeGone: told by the backend, with the cause and what else it says; none = by command.
  std::optional<MachineCause> cause;
  std::string detail;
  std::optional<Instant> until;  ///< kNodeDrain, of those: it will be gone then
  std::string fleet;             ///< kFleet: its JSON
  Report report;                 ///< kEnded, kLost
  bool done = false;             ///< kEnded, of a task that was told to leave: it had done its work before it heard of that
  std::vector<sim::RunLength> lengths;  ///< kLearn
  std::string budget;                   ///< kBudget: its JSON; kBudgetGone: its name
  std::string reason;      ///< kRefuse: why; kSubmit: why somebody must approve it first, empty = no approval is needed
  int32_t rung = 0;        ///< kTrial
  int64_t loss_micro = 0;  ///< kTrial
  EventView notice;        ///< kNotice; its number and time are given when it is applied
};

LogRecord encode(const Record& record);
/// @return error when the payload is none that encode() makes.
Result<Record> decode(JsonParser& parser, int32_t kind, std::string_view payload);

}  // namespace stint
