// Where a command's result goes: standard output, or a file that is replaced whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "report/table.h"

namespace stint {

/// What text on standard output is laid out for. Colour when it is a terminal and NO_COLOR (https://no-color.org) is not set. As
/// wide as COLUMNS says, else as the terminal is, 80 columns where it does not say; without limit in a file or a pipe, or after
/// show_wide().
Screen screen_of_stdout();
/// From now on tables show all columns, however wide they are: --wide.
void show_wide();

/// @param path  empty = standard output. A file is written beside its place and renamed into it.
Status write_output(const std::string& path, std::string_view text);

}  // namespace stint
