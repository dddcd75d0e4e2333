// Slurm's hostlist expressions: `node[01-03,7],gpu5,rack[1-2]n[1-4]`.
// Source: Slurm documentation, scontrol(1) "show hostnames"; zero padding follows the lower bound.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

/// Names in the order written. @return error for unbalanced brackets, a range that is no range, or more than
/// kMaxHosts names.
Result<std::vector<std::string>> expand_hostlist(std::string_view text);
inline constexpr size_t kMaxHosts = 100'000;

}  // namespace stint
