#include "report/short_text.h"

namespace stint {

std::string short_utc(Instant t) {
  std::string text = format_utc(Instant::from_seconds(t.seconds()));
  text[10] = ' ';
  text.pop_back();
  return text;
}

std::string short_utc(std::string_view text) {
  const Result<Instant> at = parse_instant(text);
  return at.ok() && text.size() > 10 ? short_utc(*at) : std::string(text);
}

}  // namespace stint
