// The target of an HTTP request taken apart: `/v1/jobs/7?limit=50` → segments v1, jobs, 7 and the parameter limit.
//
// Source: RFC 9112 section 3.2.1 (origin-form), RFC 3986 sections 2.1 and 3.4, and the `+` for a blank of HTML forms.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stint {

struct HttpTarget {
  std::vector<std::string> segments;                            ///< unescaped; `/` has none; an escaped slash stays inside one
  std::vector<std::pair<std::string, std::string>> parameters;  ///< unescaped, in order

  /// The first parameter of that name.
  [[nodiscard]] const std::string* parameter(std::string_view name) const;
};

/// @return error when it does not begin with a slash, is longer than 8 KiB, has more than 64 segments or parameters, an escape
///   that is none, or a control character.
Result<HttpTarget> parse_http_target(std::string_view target);

/// `a%20b` → `a b`. @return none when a % is not followed by two hexadecimal digits, or a control character comes of it.
std::optional<std::string> unescape_url(std::string_view text);

}  // namespace stint
