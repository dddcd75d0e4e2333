// Where a command's result goes: standard output, or a file that is replaced whole or not at all.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "report/table.h"

namespace stint {

/// What text on standard output is laid out for. Colour when it is a terminal and NO_COLOR (https://no-color.org) is not set. As
/// wide as COLUMNS says, else as the terminal is, 80 columns where it does not say; without limit in a file or a pipe, or after
/// show_wide().
Screen screen_of_stdout();
/// The same for what is said on standard error.
Screen screen_of_stderr();
/// From now on tables show all columns, however wide they are: --wide.
void show_wide();

/// @param path  empty = standard output. A file is written beside its place and renamed into it.
Status write_output(const std::string& path, std::string_view text);

/// Text for people as a command's result on standard output, its lines no wider than the terminal.
Status write_text(std::string_view text);
/// The same in passing, on standard output or standard error, its lines no wider than the terminal.
void print_fitted(std::string_view text);
void tell_fitted(std::string_view text);
template <typename... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  print_fitted(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void tell(fmt::format_string<Args...> format, Args&&... args) {
  tell_fitted(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace stint
