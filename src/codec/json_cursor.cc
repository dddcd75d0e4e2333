#include "codec/json_cursor.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace stint {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Four hexadecimal digits at `p`.
std::optional<uint32_t> code_unit(const char* p) {
  uint32_t unit = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_digit(p[i]);
    if (digit < 0) return std::nullopt;
    unit = unit * 16 + static_cast<uint32_t>(digit);
  }
  return unit;
}

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

bool is_high_surrogate(uint32_t c) { return c >= 0xd800 && c < 0xdc00; }
bool is_low_surrogate(uint32_t c) { return c >= 0xdc00 && c < 0xe000; }

/// What `\uXXXX` at `p` (behind the u) stands for, with the low surrogate that may follow. @return bytes read, 0 = no hex.
size_t unescape_unicode(const char* p, const char* end, std::string& out) {
  const auto unit = code_unit(p);
  if (!unit) return 0;
  if (is_high_surrogate(*unit) && end - p >= 10 && p[4] == '\\' && p[5] == 'u') {
    if (const auto low = code_unit(p + 6); low && is_low_surrogate(*low)) {
      append_utf8(out, 0x10000 + ((*unit - 0xd800) << 10) + (*low - 0xdc00));
      return 10;
    }
  }
  append_utf8(out, is_high_surrogate(*unit) || is_low_surrogate(*unit) ? 0xfffd : *unit);
  return 4;
}

/// Past the closing quote of the string that opens at `p`; nullptr when it does not close.
const char* past_string(const char* p, const char* end) {
  for (++p; p < end; ++p) {
    if (*p == '\\')
      ++p;
    else if (*p == '"')
      return p + 1;
  }
  return nullptr;
}

}  // namespace

JsonStep JsonCursor::string(std::string& out) {
  out.clear();
  if (at_end()) return JsonStep::kMore;
  if (*at != '"') return JsonStep::kBad;
  const char* const close = past_string(at, end);
  if (close == nullptr) return JsonStep::kMore;
  for (const char* p = at + 1; p < close - 1; ++p) {
    if (*p != '\\') {
      out += *p;
      continue;
    }
    switch (*++p) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case '"':
      case '\\':
      case '/': out += *p; break;
      case 'u': {
        const size_t length = close - 1 - p > 4 ? unescape_unicode(p + 1, close - 1, out) : 0;
        if (length == 0) return JsonStep::kBad;
        p += length;
        break;
      }
      default: return JsonStep::kBad;
    }
  }
  at = close;
  return JsonStep::kDone;
}

JsonStep JsonCursor::skip_value() {
  int64_t depth = 0;
  for (;;) {
    skip_blanks();
    if (at_end()) return JsonStep::kMore;
    switch (*at) {
      case '"': {
        const char* const close = past_string(at, end);
        if (close == nullptr) return JsonStep::kMore;
        at = close;
        break;
      }
      case '{':
      case '[':
        ++depth;
        ++at;
        continue;
      case '}':
      case ']':
        if (--depth < 0) return JsonStep::kBad;
        ++at;
        break;
      case ',':
      case ':':
        if (depth == 0) return JsonStep::kBad;
        ++at;
        continue;
      default: {  // a number or a word, whole when something follows it
        const char* const begin = at;
        constexpr std::string_view kLetters = "+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        while (!at_end() && kLetters.find(*at) != std::string_view::npos)
          ++at;
        if (at_end()) return JsonStep::kMore;
        if (at == begin) return JsonStep::kBad;
        break;
      }
    }
    if (depth == 0) return JsonStep::kDone;
  }
}

}  // namespace stint
