#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace stint {
namespace {

constexpr size_t kLongestCompared = 64;  // a name that is longer was never mistyped as a whole
constexpr size_t kNamesListed = 12;

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  // The optimal string alignment: three rows, for the exchange of neighbours looks back by two.
  std::vector<size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

std::string nearest_name(std::string_view word, std::span<const std::string> names) {
  if (word.empty() || word.size() > kLongestCompared) return "";
  std::string best;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    if (name.size() > kLongestCompared) continue;
    const size_t distance = edit_distance(word, name);
    if (distance < least && distance < name.size()) {
      least = distance;
      best = name;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> names) {
  const std::string near = nearest_name(word, names);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

std::string what_exists(std::string_view word, std::span<const std::string> names) {
  if (names.empty()) return "; there is none";
  const std::span<const std::string> shown = names.first(std::min(names.size(), kNamesListed));
  std::string out = did_you_mean(word, names);
  out += fmt::format("{} {}", out.empty() ? "; there is" : " There is", fmt::join(shown, ", "));
  if (shown.size() < names.size()) out += fmt::format(" and {} more", names.size() - shown.size());
  return out;
}

}  // namespace stint
