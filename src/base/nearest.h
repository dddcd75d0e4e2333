// The name that was probably meant, for one that does not exist.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stint {

/// Letters to insert, take out, change or exchange with their neighbour until `a` reads `b`.
size_t edit_distance(std::string_view a, std::string_view b);

/// The name next to `word`, the first of several alike; empty where none is near enough to be what was meant.
std::string nearest_name(std::string_view word, std::span<const std::string> names);

/// "; did you mean 'audit'?", or "" where nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

/// For a name that does not exist: "; did you mean 'a'?", and in any case what there is, "; there is a, b, c and 7 more".
std::string what_exists(std::string_view word, std::span<const std::string> names);

}  // namespace stint
