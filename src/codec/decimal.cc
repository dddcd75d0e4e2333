#include "codec/decimal.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace stint {

std::optional<double> parse_any_number(std::string_view text) {
  const bool plus = !text.empty() && text.front() == '+';
  if (plus) text.remove_prefix(1);
  if (text.empty() || (plus && text.front() == '-')) return std::nullopt;
  const bool minus = text.front() == '-';
  const std::string_view magnitude = text.substr(minus ? 1 : 0);
  if (equals_ignoring_case(magnitude, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (equals_ignoring_case(magnitude, "inf") || equals_ignoring_case(magnitude, "infinity")) {
    const double infinity = std::numeric_limits<double>::infinity();
    return minus ? -infinity : infinity;
  }
  return parse_number(text);
}

const char* read_number_slowly(const char* p, double& value) {
  const char* end = p;
  while (*end != ' ' && *end != '"' && *end != ',' && *end != '\n' && *end != '\r' && *end != '\t' && *end != '\0')
    ++end;
  const auto number = parse_any_number({p, static_cast<size_t>(end - p)});
  if (!number) return nullptr;
  value = *number;
  return end;
}

std::optional<Instant> parse_unix_time(std::string_view text) {
  const std::string terminated(text);
  Instant at;
  if (const char* end = read_unix_time(terminated.c_str(), at)) {
    if (end != terminated.c_str() + terminated.size()) return std::nullopt;
    return at;
  }
  const auto number = parse_number(text);
  if (!number || *number < 0) return std::nullopt;
  const double seconds = *number >= 1e11 ? *number / 1e3 : *number;
  if (seconds >= 9.2e9) return std::nullopt;
  return Instant::from_ns(std::llround(seconds * 1e3) * 1'000'000);  // a double of today's seconds is good to a microsecond
}

std::string implausible(Metric metric, double value) {
  const MetricInfo& info = info_of(metric);
  return is_percentage(metric) ? fmt::format("{} of {:g} %: a percentage lies between 0 and 100", info.name, value)
                               : fmt::format("{} of {:g} {} cannot be", info.name, value, info.unit);
}

}  // namespace stint
