// Text in pieces: collects up to a piece, then hands it on.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "sim/story.h"

namespace stint {

class StoryText {
 public:
  explicit StoryText(const TextOut& out) : out_(out) {}
  StoryText(const StoryText&) = delete;
  StoryText& operator=(const StoryText&) = delete;
  ~StoryText() { flush(); }

  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kPieceBytes) flush();
  }

 private:
  static constexpr size_t kPieceBytes = 64 << 10;
  void flush() {
    if (buffer_.size() > 0) out_({buffer_.data(), buffer_.size()});
    buffer_.clear();
  }
  const TextOut& out_;
  fmt::memory_buffer buffer_;
};

/// A CSV field: quoted where it must be, with quotes doubled.
std::string csv_field(std::string_view text);

}  // namespace stint
