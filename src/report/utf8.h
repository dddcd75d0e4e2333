// Text from outside, made fit to show: valid UTF-8, nothing that moves the cursor or turns the reading direction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stint {

/// The text with every control character, invalid byte and bidirectional override replaced by U+FFFD;
/// tabs and line ends become blanks. Names come from labels and bills that anybody may write.
std::string printable(std::string_view text);
/// The same, but line feeds and tabs stay: for commands and configuration.
std::string printable_lines(std::string_view text);

/// Columns the text takes on a terminal: combining marks 0, East Asian wide characters and emoji 2.
/// @param text  printable().
size_t display_width(std::string_view text);
/// Cut to at most `width` columns; the last one is then `…`. A width of 0 cuts nothing.
std::string cut_to_width(std::string_view text, size_t width);

}  // namespace stint
