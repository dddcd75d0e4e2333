// Several MIG instances in words: what a task asks for of one machine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/machine.h"

namespace stint {

/// "2x1g.10gb 3g.40gb": instances by profile, with how many of more than one. A profile that stands twice counts together.
/// @return error saying how it is written.
Result<std::vector<MigAsk>> parse_mig_asks(std::string_view text);
/// The same of what was taken once: a text that parse_mig_asks() refuses, as older logs may have it, is one profile.
std::vector<MigAsk> mig_asks_of(std::string_view text);
/// As parse_mig_asks() reads it.
std::string mig_text(std::span<const MigAsk> asks);
/// Thousandths of GPUs that all of them are, each by compute_milli() of its profile.
int64_t compute_milli(std::string_view gpu_model, std::span<const MigAsk> asks);

}  // namespace stint
