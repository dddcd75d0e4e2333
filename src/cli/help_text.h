// Help as it is printed: laid out for the terminal's width.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stint {

/// Lines of help that are wider than `width` go on in the next one: the text beside an option below its own beginning, running text
/// where its line began, and an example with a backslash, so that it can be copied whole.
/// @param width  0 = leave all lines as they are.
std::string fitted_help(std::string_view help, size_t width);

}  // namespace stint
