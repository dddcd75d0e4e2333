#include "serve/bounded_log.h"

#include <fmt/format.h>

#include "base/counted.h"

namespace stint::serve {
namespace {

/// Printable ASCII alone: what else there is may steer a terminal, or be no text at all.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c >= 0x20 && c < 0x7f)
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return out;
}

}  // namespace

std::optional<std::string> BoundedLog::line(std::string_view message, Instant now) {
  const std::lock_guard lock(mutex_);
  if (!since_ || now - *since_ >= kWindow) {
    since_ = now;
    written_ = 0;
  }
  if (written_ == kLines) {
    ++left_out_;
    return std::nullopt;
  }
  ++written_;
  std::string text = escaped(message.substr(0, kMostBytes));
  if (message.size() > kMostBytes) text += "...";
  if (left_out_ > 0) text += fmt::format(" ({} before it left out)", counted(left_out_, "line"));
  left_out_ = 0;
  return text;
}

}  // namespace stint::serve
