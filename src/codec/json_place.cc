#include "codec/json_place.h"

#include <algorithm>

namespace stint {
namespace {

/// Walks over a text known to be valid JSON: on anything else it stops early, but never leaves the text.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) { skip_blanks(); }

  [[nodiscard]] int64_t line() const {
    return 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
  }

  /// From the beginning of an object to that of the value of `key`. @return false, and stays, when there is none.
  bool enter(std::string_view key) {
    const size_t from = at_;
    for (bool more = open('{', '}'); more; more = next('}')) {
      const std::string_view name = take_string();
      skip_blanks();
      if (peek() == ':') ++at_;
      skip_blanks();
      if (name == key) return true;
      skip_value();
    }
    at_ = from;
    return false;
  }

  /// The same from the beginning of a list to that of its value number `index`, from 0.
  bool enter(size_t index) {
    const size_t from = at_;
    for (bool more = open('[', ']'); more; more = next(']')) {
      if (index-- == 0) return true;
      skip_value();
    }
    at_ = from;
    return false;
  }

 private:
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (at_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r'))
      ++at_;
  }
  /// Into something that is not empty.
  bool open(char begin, char end) {
    if (peek() != begin) return false;
    ++at_;
    skip_blanks();
    return peek() != end && at_ < text_.size();
  }
  /// Behind a value, to the next one.
  bool next(char end) {
    skip_blanks();
    if (peek() == end || peek() != ',') return false;
    ++at_;
    skip_blanks();
    return at_ < text_.size();
  }
  /// What stands between the quotes, as it is written.
  std::string_view take_string() {
    if (peek() != '"') return {};
    const size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"')
      at_ += text_[at_] == '\\' ? size_t{2} : size_t{1};
    at_ = std::min(at_, text_.size());
    const std::string_view inside = text_.substr(begin, at_ - begin);
    at_ = std::min(at_ + 1, text_.size());
    return inside;
  }
  void skip_value() {
    int depth = 0;
    do {
      const char c = peek();
      if (c == '"') {
        take_string();
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) return;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
      if (depth == 0 && (c == '}' || c == ']')) return;
    } while (at_ < text_.size());
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

int64_t line_in_json(std::string_view text, std::initializer_list<std::string_view> keys, std::optional<size_t> index) {
  Walker walker(text);
  for (const std::string_view key : keys)
    if (!walker.enter(key)) return walker.line();
  if (index) walker.enter(*index);
  return walker.line();
}

}  // namespace stint
