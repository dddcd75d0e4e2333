#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace stint {

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)),
      terminal_(isatty(STDERR_FILENO) != 0),
      next_(std::chrono::steady_clock::now() + std::chrono::milliseconds(300)) {}

void ProgressLine::show(int64_t done, int64_t total) {
  if (!terminal_ || std::chrono::steady_clock::now() < next_) return;
  next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  constexpr int64_t kWidth = 30;
  if (total > 0) {
    const int64_t filled = std::clamp<int64_t>(done * kWidth / total, 0, kWidth);
    fmt::print(stderr, "\r\033[K[{}{}] {:3} % {}", std::string(static_cast<size_t>(filled), '#'),
               std::string(static_cast<size_t>(kWidth - filled), '.'), std::clamp<int64_t>(done * 100 / total, 0, 100), what_);
  } else {
    fmt::print(stderr, "\r\033[K{:.1f} MB {}", static_cast<double>(done) / 1e6, what_);
  }
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace stint
