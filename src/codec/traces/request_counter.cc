#include "codec/traces/request_counter.h"

#include <simdjson.h>

#include <cmath>
#include <optional>

#include "base/text.h"
#include "codec/json_mistake.h"

namespace stint {
namespace {

struct CounterSample {
  Instant at;
  double value = 0;
};

/// `[1761955200.5, "1234"]`; none for NaN, which stands where a target was gone.
Result<std::optional<CounterSample>> counter_sample(const simdjson::dom::element& pair) {
  double seconds = 0;
  std::string_view text;
  if (pair.at(0).get(seconds) != simdjson::SUCCESS || pair.at(1).get(text) != simdjson::SUCCESS || !(seconds >= 0) ||
      seconds > 7e9)
    return invalid("a sample is no [time, \"value\"]");
  if (text == "NaN") return std::optional<CounterSample>();
  const auto value = parse_number(text);
  if (!value || *value < 0) return invalid("'{}' is no count", excerpt(text));
  return std::optional(CounterSample{Instant::from_ns(static_cast<int64_t>(seconds * 1e9)), *value});
}

}  // namespace

Result<CounterIncrease> read_counter_increase(std::string_view json, Interval period, const std::string& source) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root); error != simdjson::SUCCESS)
    return invalid("{}: not JSON ({})", source, json_mistake_or(json, simdjson::error_message(error)));
  simdjson::dom::array all;
  if (root["data"]["result"].get(all) != simdjson::SUCCESS)
    return invalid("{}: no `data.result`: save what query_range of the counter answers", source);
  CounterIncrease out;
  Interval covered;
  for (const simdjson::dom::element series : all) {
    simdjson::dom::array values;
    if (series["values"].get(values) != simdjson::SUCCESS)
      return invalid("{}: a result without `values`: ask query_range, not query", source);
    std::optional<CounterSample> before;
    for (const simdjson::dom::element pair : values) {
      const auto sample = counter_sample(pair);
      if (!sample.ok()) return invalid("{}: {}", source, sample.error().message);
      if (!*sample) continue;
      const CounterSample now = **sample;
      if (before && now.at > before->at) {
        const Interval step = {before->at, now.at};
        const Interval within = intersect(step, period);
        const double counted = now.value >= before->value ? now.value - before->value : now.value;
        if (!within.empty()) {
          out.increase += counted * within.length().to_hours() / step.length().to_hours();
          covered = covered.empty() ? within : Interval{std::min(covered.begin, within.begin), std::max(covered.end, within.end)};
        }
      }
      before = now;
    }
  }
  if (!covered.empty()) out.known = covered.length();
  return out;
}

}  // namespace stint
