#include "cli/help_text.h"

#include <algorithm>

#include "base/text.h"
#include "report/table.h"
#include "report/utf8.h"

namespace stint {
namespace {

constexpr std::string_view kExample = "Example: ";

/// Where the text beside an option begins, and the text of a line that has nothing else: after the first gap of two blanks.
size_t begin_of_text(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.find("  ", begin);
  if (begin == 0 || gap == std::string_view::npos) return begin;
  return std::min(line.find_first_not_of(' ', gap), line.size());
}

std::string fitted_line(std::string_view line, size_t width) {
  if (display_width(line) <= width) return std::string(line);
  if (line.starts_with(kExample)) return fitted_command(line, width);
  const size_t text = begin_of_text(line);
  const std::string_view head = line.substr(0, text);
  const size_t indent = display_width(head);
  if (indent + 20 > width) return fitted(line, {Colour::kNo, width});
  std::string out = wrapped(line.substr(text), width, indent);
  out.replace(0, indent, head);
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

}  // namespace

std::string fitted_help(std::string_view help, size_t width) {
  if (width == 0) return std::string(help);
  std::string out;
  bool first = true;
  for (const std::string_view line : split(help, '\n')) {
    if (!first) out += '\n';
    first = false;
    out += fitted_line(line, width);
  }
  return out;
}

}  // namespace stint
