// A long command that somebody waits for.
#pragma once

#include "host/process.h"

namespace stint {

/// As run_in_background(), with the caller's own priority.
Result<CommandOutput> run_beside(const std::vector<std::string>& command, Duration timeout, size_t most_bytes,
                                 const std::atomic<bool>& stop);

}  // namespace stint
