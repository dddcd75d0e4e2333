// Whose turn it is to drive a log: a daemon that stands by waits for it, and none goes on before it is certain that no task runs where
// it cannot see it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backends/backend.h"
#include "base/result.h"
#include "daemon/engine/engine.h"
#include "daemon/task_host.h"
#include "store/event_log.h"

namespace stint {

struct StandbyRules {
  /// none = no task is a process of a daemon's machine (simulated ones, a Slurm's): whoever has the log may go on.
  std::optional<TaskHost> here;
  bool has_run = false;  ///< tasks have been started in this state folder before
  /// Program that makes certain that no task runs on a machine any more, by its name and its id; "" = there is none.
  std::string fence;
  /// So long another machine's daemon must be away before it counts as gone.
  Duration patience = Duration::seconds(30);
  /// Takes the state folder for this process; again is nothing. @return error while another one has it
  std::function<Status()> hold_folder;
  /// Called a few times a second while it waits, with what there is to say when that is news; false = give up.
  std::function<bool(const std::string& news)> keep_waiting;
};

/// Of the log; none = it does not say.
Result<std::optional<TaskHost>> task_host_of(EventLog& log);

/// Reads what the active daemon writes until that is gone, all tasks are where this daemon sees them or certainly nowhere, and the log is
/// this one's.
/// @return why the tasks of the log are lost; "" = they are not
Result<std::string> stand_by(EventLog& log, Engine& engine, const StandbyRules& rules);

/// The same for a daemon that has the log and does not wait. @return error where it is not certain
Result<std::string> find_tasks(EventLog& log, const Engine& engine, const StandbyRules& rules);

/// Stops what runs in the state folder of a daemon whose tasks the log has given up, and waits until it is gone. @return error when it was asked to give up
Status end_leftovers(Backend& backend, const std::function<bool(const std::string&)>& keep_waiting);

}  // namespace stint
