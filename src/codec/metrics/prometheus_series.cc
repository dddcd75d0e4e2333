#include "codec/metrics/prometheus_series.h"

#include "base/text.h"

namespace stint {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

std::string_view take_name(std::string_view line, size_t& at) {
  const size_t begin = at;
  while (at < line.size() && is_name_char(line[at]))
    ++at;
  if (at > begin && line[begin] >= '0' && line[begin] <= '9') at = begin;
  return line.substr(begin, at - begin);
}

void skip_blanks(std::string_view line, size_t& at) {
  while (at < line.size() && (line[at] == ' ' || line[at] == '\t'))
    ++at;
}

bool skip_past(std::string_view line, size_t& at, char c) {
  if (at >= line.size() || line[at] != c) return false;
  ++at;
  return true;
}

}  // namespace

/// The text between quotes at `at`, with \\, \" and \n resolved.
Result<std::string_view> PrometheusSeriesText::quoted(std::string_view line, size_t& at) {
  if (!skip_past(line, at, '"')) return invalid("a label value is not quoted");
  const size_t begin = at;
  const size_t kept = unescaped_.size();
  bool escaped = false;
  for (; at < line.size(); ++at) {
    char c = line[at];
    if (c == '"') {
      const std::string_view plain = line.substr(begin, at - begin);
      ++at;
      return escaped ? std::string_view(unescaped_).substr(kept) : plain;
    }
    if (c == '\\') {
      if (!escaped) unescaped_.append(line.substr(begin, at - begin));
      escaped = true;
      if (++at == line.size()) break;
      c = line[at] == 'n' ? '\n' : line[at];
    }
    if (escaped) unescaped_ += c;
  }
  return invalid("a label value does not end");
}

Result<size_t> PrometheusSeriesText::parse(std::string_view line) {
  labels_.clear();
  unescaped_.clear();
  unescaped_.reserve(line.size());  // never grows below: views into it stay true
  size_t at = 0;
  name_ = take_name(line, at);
  const size_t name_end = at;
  skip_blanks(line, at);
  if (!skip_past(line, at, '{')) {
    if (name_.empty()) return invalid("no metric name");
    return name_end;
  }
  for (;;) {
    skip_blanks(line, at);
    if (skip_past(line, at, '}')) break;
    const bool quoted_name = at < line.size() && line[at] == '"';
    SeriesLabel label;
    if (quoted_name) {
      TRY_ASSIGN(label.name, quoted(line, at));
    } else {
      label.name = take_name(line, at);
    }
    skip_blanks(line, at);
    if (skip_past(line, at, '=')) {
      skip_blanks(line, at);
      TRY_ASSIGN(label.value, quoted(line, at));
      if (label.name.empty()) return invalid("a label has no name");
      labels_.push_back(label);
    } else if (quoted_name && name_.empty()) {
      name_ = label.name;
    } else {
      return invalid("a label has no value");
    }
    skip_blanks(line, at);
    if (skip_past(line, at, ',')) continue;
    if (skip_past(line, at, '}')) break;
    return invalid("labels are not separated by commas or not closed");
  }
  if (name_.empty()) return invalid("no metric name");
  return at;
}

}  // namespace stint
