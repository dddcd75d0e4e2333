// Where the tasks of a log run. A task is a process of one machine, and its folder lies in one state folder: whoever takes the log
// over and cannot see them there must not start them again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

struct TaskHost {
  std::string machine;    ///< tells machines apart; "" = this one has nothing that does
  std::string name;       ///< of the machine, for people and programs
  std::string folder;     ///< state folder there, absolute
  std::string folder_id;  ///< 64 hexadecimal digits that lie in it
  bool operator==(const TaskHost&) const = default;
};

/// Stream of the log whose only row says it (to_json), of logs in a database.
inline constexpr std::string_view kTaskHostStream = "task host";

std::string to_json(const TaskHost& host);
Result<TaskHost> parse_task_host(std::string_view json);

/// This machine and that folder of it, which gets its id where it has none.
/// @param machine  in place of /etc/machine-id; "" = that
Result<TaskHost> task_host_here(const std::string& state_folder, const std::string& machine);

/// The tasks of a log, as a daemon sees them.
enum class TaskSight {
  kOurs,          ///< in its state folder
  kNotSaid,       ///< by an older Stint's log
  kOtherFolder,   ///< on its machine, in another state folder
  kOtherMachine,  ///< or in a state folder that was copied from another machine
};
TaskSight sight_of(const std::optional<TaskHost>& recorded, const TaskHost& here);

}  // namespace stint
