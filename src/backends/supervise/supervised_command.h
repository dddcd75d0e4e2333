// Starts a command as the leader of its own group, with more in its environment than this process has.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stint {

/// Standard streams are the caller's, but a terminal as standard input is not handed on. It dies with this process.
/// For a process without threads. @return kNotFound when there is no such program, or no script that
/// its interpreter is told to run.
Result<pid_t> start_supervised(const std::vector<std::string>& command,
                               const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace stint
