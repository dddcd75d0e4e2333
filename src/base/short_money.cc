#include "base/short_money.h"

#include <cstdlib>

namespace stint {
namespace {

/// How many decimals an amount of so many nano-units is shown with, before zeros at the end are taken off.
int decimals_for(int64_t nanos) {
  const int64_t size = std::abs(nanos);
  if (size % 100'000 == 0) return 4;    // exact in four
  if (size >= 1'000'000'000) return 2;  // 1 and more
  if (size >= 1'000'000) return 4;      // a tenth of a cent and more
  int decimals = 4;
  for (int64_t digit = 1'000'000; digit > size && decimals < 9; digit /= 10)
    ++decimals;
  return decimals;
}

/// With so many decimals, but for zeros at the end beyond the second.
std::string trimmed(Money m, int decimals) {
  std::string text = m.to_text(decimals);
  text.erase(text.rfind(' '));
  const size_t least = text.find('.') + 3;
  while (text.size() > least && text.back() == '0')
    text.pop_back();
  return text;
}

}  // namespace

std::string short_amount(Money m) { return trimmed(m, decimals_for(m.count_nanos())); }
std::string short_money(Money m) { return fmt::format("{} {}", short_amount(m), m.currency().code()); }
std::string exact_money(Money m) { return fmt::format("{} {}", trimmed(m, 9), m.currency().code()); }

}  // namespace stint
