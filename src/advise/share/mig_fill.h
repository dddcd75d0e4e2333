// Filling many GPUs without moving anything: patterns taken by what they add, then exchanged singly and in pairs while that helps.
#pragma once

#include <span>
#include <vector>

#include "advise/share/mig_patterns.h"

namespace stint {

/// @return a layout per GPU: what runs there, and what is placed of what is wanted.
std::vector<MigLayout> fill_mig(const MigPatterns& patterns, std::span<const MigLayout> running, const MigCounts& wanted);

}  // namespace stint
