#include "telemetry/alert_matcher.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/utf8.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 10> kLabels = {"alertname", "severity", "scope",   "client", "node",
                                                      "gpu",       "job",      "service", "queue",  "spend"};
constexpr size_t kLongestPattern = 200;

/// The classic greedy walk: the last star is tried again one character later; O(pattern × text), no recursion.
bool glob(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

}  // namespace

bool AlertMatcher::matches(const AlertLabels& labels) const {
  const auto at = labels.find(label);
  return glob(pattern, at == labels.end() ? std::string_view() : at->second) != negated;
}

Result<AlertMatcher> parse_alert_matcher(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return invalid("'{}' is no matcher: give one such as node=gpu-7 or severity!=warning", excerpt(text));
  AlertMatcher matcher;
  matcher.negated = text[equals - 1] == '!';
  matcher.label = trim(text.substr(0, equals - (matcher.negated ? 1 : 0)));
  matcher.pattern = trim(text.substr(equals + 1));
  if (std::ranges::find(kLabels, matcher.label) == kLabels.end())
    return invalid("matcher '{}': alerts have no label '{}': give one of {}", excerpt(text), excerpt(matcher.label),
                   fmt::join(kLabels, ", "));
  if (matcher.pattern.size() > kLongestPattern || !is_utf8(matcher.pattern))
    return invalid("matcher '{}': a pattern is UTF-8 and at most {} bytes long", excerpt(text), kLongestPattern);
  return matcher;
}

Result<std::vector<AlertMatcher>> parse_alert_matchers(std::span<const std::string> texts) {
  if (texts.empty()) return invalid("no matcher: give one such as alertname=GpuHot or node=gpu-7");
  std::vector<AlertMatcher> matchers;
  for (const std::string& text : texts) {
    TRY_ASSIGN(AlertMatcher matcher, parse_alert_matcher(text));
    matchers.push_back(std::move(matcher));
  }
  return matchers;
}

std::string to_text(const AlertMatcher& matcher) {
  return fmt::format("{}{}={}", matcher.label, matcher.negated ? "!" : "", matcher.pattern);
}

bool all_match(std::span<const AlertMatcher> matchers, const AlertLabels& labels) {
  return std::ranges::all_of(matchers, [&](const AlertMatcher& m) { return m.matches(labels); });
}

}  // namespace stint
