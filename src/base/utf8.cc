#include "base/utf8.h"

namespace stint {

CodePoint decode_utf8(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1, true};
  size_t length = 0;
  char32_t smallest = 0;
  char32_t code = 0;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
    smallest = 0x80;
    code = first & 0x1Fu;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    smallest = 0x800;
    code = first & 0x0Fu;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    smallest = 0x10000;
    code = first & 0x07u;
  } else
    return {};
  for (size_t i = 1; i < length; ++i) {
    if (at + i >= text.size() || (byte(at + i) & 0xC0u) != 0x80u) return {0, i, false};
    code = (code << 6u) | (byte(at + i) & 0x3Fu);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return {code, length, code >= smallest && code <= 0x10FFFF && !surrogate};
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (!point.valid) return false;
    at += point.bytes;
  }
  return true;
}

}  // namespace stint
