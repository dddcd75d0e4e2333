#include "report/csv_text.h"

namespace stint {

std::string csv_text(std::string_view text) {
  std::string out(text);
  if (!out.empty() && std::string_view("=+-@").find(out.front()) != std::string_view::npos) out.insert(0, "'");
  if (out.find_first_of(",\"\r\n") == std::string::npos) return out;
  std::string quoted = "\"";
  for (const char c : out)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace stint
