// Windows of time as OpenCost's API takes them. Source: OpenCost documentation, "API", parameter `window`; its core/pkg/opencost/window.go.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace stint {

/// `today`, `yesterday`, `week`, `month`, `lastweek`, `lastmonth` (UTC; weeks begin on Sunday), `30m`, `12h`, `7d`, `2w` (back from the end of
/// this minute, hour or day), two instants of RFC 3339 or two Unix times in seconds with a comma between.
/// @return error for anything else, and for more than ten years.
Result<Interval> parse_opencost_window(std::string_view text, Instant now);

}  // namespace stint
