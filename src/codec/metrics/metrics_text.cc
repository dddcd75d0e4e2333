#include "codec/metrics/metrics_text.h"

namespace stint {

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text)
    switch (c) {
      case '\\': out += "\\\\"; break;
      case '"': out += "\\\""; break;
      case '\n': out += "\\n"; break;
      default: out += c;
    }
  return out;
}

std::string labels_text(const std::vector<std::pair<std::string_view, std::string_view>>& labels) {
  std::string text;
  for (const auto& [name, value] : labels)
    text += fmt::format("{}{}=\"{}\"", text.empty() ? "" : ",", name, label_value(value));
  return text;
}

void MetricText::begin() {
  if (begun_) return;
  out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help_, name_, type_);
  begun_ = true;
}

}  // namespace stint
