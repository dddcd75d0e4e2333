// Small text helpers shared by parsers: views in, values out, no allocation unless a string is returned.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stint {

/// Without leading and trailing blanks, tabs, CR and LF.
std::string_view trim(std::string_view text);
/// ASCII only; other bytes stay.
std::string to_lower(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);
bool contains_ignoring_case(std::string_view text, std::string_view part);
std::vector<std::string_view> split(std::string_view text, char separator);
/// Not of a text that is gone before its parts are looked at.
template <std::same_as<std::string> Text>
std::vector<std::string_view> split(Text&& text, char separator) = delete;

/// The whole text as a decimal integer; none when anything else is in it or it overflows.
std::optional<int64_t> parse_int(std::string_view text);
/// The whole text as a finite number; none for NaN, Inf, hexadecimal, or trailing characters.
std::optional<double> parse_number(std::string_view text);

/// Text made safe to print on one line of an error: control characters escaped, cut at `max_bytes`.
std::string excerpt(std::string_view text, size_t max_bytes = 60);

/// 64-bit FNV-1a. Stable over releases: file fingerprints and ids derived from names use it.
class Fnv1a {
 public:
  void update(std::string_view bytes) {
    for (const char c : bytes)
      hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  [[nodiscard]] uint64_t digest() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace stint
