// Prometheus' text format, metric by metric.
// Source: https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stint {

/// Backslash, quote and line break are escaped in a label's value.
std::string label_value(std::string_view text);
/// `name="value",…`
std::string labels_text(const std::vector<std::pair<std::string_view, std::string_view>>& labels);

/// One metric: its help and type, written with its first sample, and its samples. One without samples is not there.
class MetricText {
 public:
  /// @param type  "gauge", "counter", "histogram".
  MetricText(std::string& out, std::string_view name, std::string_view type, std::string_view help)
      : out_(out), name_(name), type_(type), help_(help) {}
  /// @param labels  as labels_text() writes them. @param suffix  of a histogram's parts.
  template <typename Value>
  void add(std::string_view labels, const Value& value, std::string_view suffix = "") {
    begin();
    out_ += fmt::format("{}{}{}{}{} {}\n", name_, suffix, labels.empty() ? "" : "{", labels, labels.empty() ? "" : "}", value);
  }

 private:
  void begin();
  std::string& out_;
  std::string name_;
  std::string_view type_;
  std::string help_;
  bool begun_ = false;
};

}  // namespace stint
