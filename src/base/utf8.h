// UTF-8: what is a character, and whether a text is made of such. Source: Unicode 15, table 3-7.
#pragma once

#include <cstddef>
#include <string_view>

namespace stint {

struct CodePoint {
  char32_t code = 0;
  size_t bytes = 1;    ///< to the next one; of what is no character, to where one may begin
  bool valid = false;  ///< no overlong form, no surrogate, nothing beyond U+10FFFF
};
/// @param at  < text.size().
CodePoint decode_utf8(std::string_view text, size_t at);
bool is_utf8(std::string_view text);

}  // namespace stint
