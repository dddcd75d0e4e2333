// Quantities of Kubernetes, in whole numbers: a decimal number with a binary (Ki … Ei) or decimal (n … E) suffix or an exponent.
#include <algorithm>
#include <array>

#include "codec/kubernetes/kubernetes_object.h"

namespace stint {
namespace {

struct Suffix {
  std::string_view text;
  int power_of_ten;  ///< of thousandths
  int power_of_two;
};
// Of thousandths: a bare number is ×10³.
constexpr std::array<Suffix, 17> kSuffixes = {{{"", 3, 0},
                                               {"n", -6, 0},
                                               {"u", -3, 0},
                                               {"m", 0, 0},
                                               {"k", 6, 0},
                                               {"M", 9, 0},
                                               {"G", 12, 0},
                                               {"T", 15, 0},
                                               {"P", 18, 0},
                                               {"E", 21, 0},
                                               {"Ki", 3, 10},
                                               {"Mi", 3, 20},
                                               {"Gi", 3, 30},
                                               {"Ti", 3, 40},
                                               {"Pi", 3, 50},
                                               {"Ei", 3, 60},
                                               {"K", 6, 0}}};

__extension__ typedef __int128 QuantityInt;

constexpr int kMostDigits = 18;

std::optional<int> quantity_exponent(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > 2 || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  int value = 0;
  for (const char c : text)
    value = value * 10 + (c - '0');
  return negative ? -value : value;
}

}  // namespace

std::optional<int64_t> parse_kubernetes_quantity(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const size_t digits_end = std::min(text.find_first_not_of("0123456789."), text.size());
  std::string_view number = text.substr(0, digits_end);
  const std::string_view suffix = text.substr(digits_end);
  const size_t point = number.find('.');
  if (number.empty() || number == "." ||
      (point != std::string_view::npos && number.find('.', point + 1) != std::string_view::npos))
    return std::nullopt;

  int tens = 0, twos = 0;
  bool known = false;
  if (suffix.size() > 1 && (suffix[0] == 'e' || suffix[0] == 'E') && suffix != "Ei") {
    const auto exponent = quantity_exponent(suffix.substr(1));
    if (!exponent) return std::nullopt;
    tens = 3 + *exponent, known = true;
  } else {
    for (const Suffix& one : kSuffixes)
      if (one.text == suffix) tens = one.power_of_ten, twos = one.power_of_two, known = true;
  }
  if (!known) return std::nullopt;

  QuantityInt value = 0;
  int digits = 0;
  bool behind_point = false;
  bool lost = false;
  for (const char c : number) {
    if (c == '.') {
      behind_point = true;
      continue;
    }
    if (digits == kMostDigits) {
      if (!behind_point) return std::nullopt;
      lost |= c != '0';
      continue;
    }
    value = value * 10 + (c - '0');
    digits += value > 0 ? 1 : 0;
    tens -= behind_point ? 1 : 0;
  }
  value <<= twos;  // below 10¹⁸ × 2⁶⁰ < 2¹²⁰
  for (; tens > 0 && value > 0; --tens) {
    value *= 10;
    if (value > INT64_MAX && tens > 0) return std::nullopt;
  }
  for (; tens < 0 && value > 0; ++tens) {
    lost |= value % 10 != 0;
    value /= 10;
  }
  if (lost) ++value;
  if (value > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(value);
}

}  // namespace stint
