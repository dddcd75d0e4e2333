// A cursor over JSON that may end anywhere: every read says whether it is done, needs more bytes, or met
// something that is no JSON. For streams; whole documents are simdjson's business.
#pragma once

#include <string>

namespace stint {

enum class JsonStep { kDone, kMore, kBad };

/// A NUL must follow the bytes, at *end. After anything but kDone, `at` means nothing but where the trouble is.
struct JsonCursor {
  const char* at;
  const char* end;

  [[nodiscard]] bool at_end() const { return at >= end; }
  void skip_blanks() {
    while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
      ++at;
  }
  bool take(char c) {
    if (*at != c || at_end()) return false;
    ++at;
    return true;
  }
  /// A string, unescaped; lone surrogates become U+FFFD.
  JsonStep string(std::string& out);
  /// Over one value of any kind, however deep.
  JsonStep skip_value();
};

}  // namespace stint
