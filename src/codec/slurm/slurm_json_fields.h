// Members of Slurm's JSON answers, whichever version wrote them (see slurm_json.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

// The parser itself stays in the files that walk an answer.
namespace simdjson::dom {
class object;
}

namespace stint::slurm_json {

namespace dom = simdjson::dom;
/// None where there is none; its members are then absent too.
using Object = std::optional<dom::object>;

/// A text, or a list's first text; empty = absent.
std::string text_of(const Object& object, std::string_view key);
/// All texts of a list; empty = absent.
std::vector<std::string> texts_of(const Object& object, std::string_view key);
/// None for absent, null, not set and infinite.
std::optional<int64_t> number_of(const Object& object, std::string_view key);
Object object_of(const Object& object, std::string_view key);
/// Seconds of the epoch; Slurm writes 0 for never.
std::optional<Instant> time_of(const Object& object, std::string_view key);
/// None for no limit, too.
std::optional<Duration> minutes_of(const Object& object, std::string_view key);
/// A job's hostlist; since 24.05 squeue may have it only with the job's resources.
std::string nodes_of(const Object& object);
/// What Slurm says went wrong; empty: nothing.
std::string error_of(const Object& root);

}  // namespace stint::slurm_json
