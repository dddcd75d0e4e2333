#include "report/utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace stint {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Range {
  char32_t first;
  char32_t last;
};

template <size_t N>
bool contains(const std::array<Range, N>& ranges, char32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [&](Range r) { return r.first <= code && code <= r.last; });
}

bool is_unsafe(char32_t code) {
  // C0 and C1 controls; marks that reverse the reading direction; line and paragraph separators.
  constexpr std::array<Range, 7> kUnsafe = {
      {{0x00, 0x1F}, {0x7F, 0x9F}, {0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}}};
  return contains(kUnsafe, code);
}

size_t width_of(char32_t code) { return static_cast<size_t>(utf8proc_charwidth(static_cast<utf8proc_int32_t>(code))); }

enum class LineEnds { kBlank, kKeep };

std::string sanitised(std::string_view text, LineEnds line_ends) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint d = decode_utf8(text, at);
    if (d.valid && (d.code == '\n' || d.code == '\t')) {
      out += line_ends == LineEnds::kKeep ? static_cast<char>(d.code) : ' ';
    } else if (d.valid && d.code == '\r') {
      out += line_ends == LineEnds::kKeep ? "" : " ";
    } else if (!d.valid || is_unsafe(d.code)) {
      out += kReplacement;
    } else {
      out += text.substr(at, d.bytes);
    }
    at += d.bytes;
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return sanitised(text, LineEnds::kBlank); }
std::string printable_lines(std::string_view text) { return sanitised(text, LineEnds::kKeep); }

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint d = decode_utf8(text, at);
    width += d.valid ? width_of(d.code) : 1;
    at += d.bytes;
  }
  return width;
}

std::string cut_to_width(std::string_view text, size_t width) {
  if (width == 0 || display_width(text) <= width) return std::string(text);
  size_t used = 0;
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint d = decode_utf8(text, at);
    const size_t w = d.valid ? width_of(d.code) : 1;
    if (used + w + 1 > width) break;
    used += w;
    at += d.bytes;
  }
  return std::string(text.substr(0, at)) + "…";
}

}  // namespace stint
