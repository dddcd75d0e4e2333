// Matchers pick alerts by their labels: what a silence holds for, what a receiver wants to hear.
//
// "node=gpu-7", "severity!=warning", "gpu=gpu-7:*". A star stands for any text. A label that is not there is empty, as in
// Prometheus; all matchers of a list must match.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

using AlertLabels = std::map<std::string, std::string>;

struct AlertMatcher {
  std::string label;
  std::string pattern;
  bool negated = false;
  bool operator==(const AlertMatcher&) const = default;

  [[nodiscard]] bool matches(const AlertLabels& labels) const;
};

/// @return error for a text that is no matcher, or names a label no alert has.
Result<AlertMatcher> parse_alert_matcher(std::string_view text);
/// @return error naming the first that is wrong, or saying that there is none.
Result<std::vector<AlertMatcher>> parse_alert_matchers(std::span<const std::string> texts);
/// As parse_alert_matcher() reads it.
std::string to_text(const AlertMatcher& matcher);

bool all_match(std::span<const AlertMatcher> matchers, const AlertLabels& labels);

}  // namespace stint
