// Where in a JSON text a value stands: for messages that send a person to a line of their file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace stint {

/// The line, from 1, on which the value begins that is reached by `keys` and then, where it is given, by `index` into a list.
/// @param text  valid JSON. @return the line of the innermost value on that way that is there.
int64_t line_in_json(std::string_view text, std::initializer_list<std::string_view> keys, std::optional<size_t> index = {});

}  // namespace stint
