// Where a command's result goes: standard output, or a file that is replaced whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/table.h"

namespace stint {

/// Colour when standard output is a terminal and NO_COLOR (https://no-color.org) is not set.
Colour colour_of_stdout();

/// @param path  empty = standard output. A file is written beside its place and renamed into it.
Status write_output(const std::string& path, std::string_view text);

}  // namespace stint
