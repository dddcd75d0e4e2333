// `name{label="value",…}` taken apart.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/metrics/label_mapping.h"

namespace stint {

class PrometheusSeriesText {
 public:
  /// Reads a series off the front of `line`; blanks and a trailing comma are allowed as in the exposition format,
  /// and so is the quoted name `{"name",…}` of Prometheus 3.
  /// @return its length. name() and labels() hold until the next call and as long as `line`.
  Result<size_t> parse(std::string_view line);
  [[nodiscard]] std::string_view name() const { return name_; }
  [[nodiscard]] std::span<const SeriesLabel> labels() const { return labels_; }

 private:
  Result<std::string_view> quoted(std::string_view line, size_t& at);
  std::string_view name_;
  std::vector<SeriesLabel> labels_;
  std::string unescaped_;
};

}  // namespace stint
