// The keeper of a task: a small process between the daemon and the task's own, which outlives the daemon.
//
// It starts the task, is its parent, ends it when asked or when its time is up, clears away all that it left running, and
// writes down how it ended. The daemon may die and come back meanwhile: all it needs lies in the task's folder.
#pragma once

#include <string>
#include <string_view>

#include "backends/local/task_folder.h"

namespace stint {

/// Descriptors a keeper inherits: the lock of its folder, held, and the control pipe.
inline constexpr int kKeeperLock = 3;
inline constexpr int kKeeperControl = 4;

/// The requests a keeper reads from the control pipe, a line each.
std::string signal_request(int signal);
std::string stop_request(Duration grace);

/// The whole life of a keeper: the body of `stint keeper FOLDER`. @return the exit code of the process.
int run_keeper(const std::string& folder);

}  // namespace stint
