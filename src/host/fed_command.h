// A short command that reads its standard input from memory (host/process.h for those that do not).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/process.h"

namespace stint {

/// As run_command(). @param standard_input  all it gets to read; a file in memory, so that neither side waits for the other.
Result<CommandOutput> run_fed_command(const std::vector<std::string>& command, std::string_view standard_input, Duration timeout,
                                      size_t most_bytes);

}  // namespace stint
