#include "host/http_target.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

constexpr size_t kMaxTargetBytes = size_t{8} << 10;
constexpr size_t kMaxParts = 64;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

Error bad_target(std::string_view target, std::string_view why) { return invalid("request target {}: {}", excerpt(target), why); }

}  // namespace

std::optional<std::string> unescape_url(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '%') {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
      if (low < 0) return std::nullopt;
      c = static_cast<unsigned char>(high * 16 + low);
      i += 2;
    }
    if (is_control(c)) return std::nullopt;
    out += static_cast<char>(c);
  }
  return out;
}

const std::string* HttpTarget::parameter(std::string_view name) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(), [name](const auto& p) { return p.first == name; });
  return found == parameters.end() ? nullptr : &found->second;
}

Result<HttpTarget> parse_http_target(std::string_view target) {
  if (target.size() > kMaxTargetBytes) return bad_target(target, "longer than 8 KiB");
  if (target.empty() || target[0] != '/') return bad_target(target, "does not begin with /");
  HttpTarget parsed;
  const size_t question = target.find('?');
  const std::string_view path = target.substr(1, question == std::string_view::npos ? target.npos : question - 1);
  if (!path.empty()) {
    for (const std::string_view part : split(path, '/')) {
      auto segment = unescape_url(part);
      if (!segment) return bad_target(target, "an escape that is none, or a control character");
      if (parsed.segments.size() == kMaxParts) return bad_target(target, "too many segments");
      parsed.segments.push_back(std::move(*segment));
    }
  }
  if (question == std::string_view::npos) return parsed;
  for (const std::string_view part : split(target.substr(question + 1), '&')) {
    if (part.empty()) continue;
    std::string plain(part);
    std::replace(plain.begin(), plain.end(), '+', ' ');
    const std::string_view field = plain;
    const size_t equals = std::min(field.find('='), field.size());
    auto name = unescape_url(field.substr(0, equals));
    auto value = unescape_url(field.substr(std::min(equals + 1, field.size())));
    if (!name || !value) return bad_target(target, "an escape that is none, or a control character");
    if (parsed.parameters.size() == kMaxParts) return bad_target(target, "too many parameters");
    parsed.parameters.emplace_back(std::move(*name), std::move(*value));
  }
  return parsed;
}

}  // namespace stint
