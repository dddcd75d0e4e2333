#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/output.h"
#include "report/utf8.h"

namespace stint {
namespace {

constexpr auto kBeforeFirst = std::chrono::milliseconds(300);  // short work draws nothing
constexpr auto kBetween = std::chrono::milliseconds(100);
constexpr size_t kUsualProgressColumns = 80;

/// Not through stdio: a process forked meanwhile must not find its lock held.
void write_to_terminal(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

std::string progress_text(const std::string& what, int64_t done, int64_t total, int64_t elapsed_s, size_t columns) {
  constexpr int64_t kWidth = 30;
  std::string text;
  if (total > 0) {
    const int64_t filled = std::clamp<int64_t>(done * kWidth / total, 0, kWidth);
    text = fmt::format("[{}{}] {:3} % {}", std::string(static_cast<size_t>(filled), '#'),
                       std::string(static_cast<size_t>(kWidth - filled), '.'), std::clamp<int64_t>(done * 100 / total, 0, 100),
                       what);
  } else if (done > 0) {
    text = fmt::format("{:.1f} MB {}", static_cast<double>(done) / 1e6, what);
  } else {
    text = what;
  }
  if (elapsed_s > 0) text = fmt::format("{} s {}", elapsed_s, text);
  return cut_to_width(printable(text), columns > 1 ? columns - 1 : kUsualProgressColumns);
}

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0), begin_(Clock::now()) {
  if (terminal_) drawer_ = std::thread([this] { draw_now_and_then(); });
}

ProgressLine::~ProgressLine() {
  if (!terminal_) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  drawer_.join();
  clear();
}

void ProgressLine::draw_now_and_then() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kBeforeFirst, [this] { return ended_; });
  while (!ended_) {
    if (wanted_) {
      const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_);
      write_to_terminal("\r\033[K" + progress_text(what_, done_, total_, elapsed.count(), screen_of_stderr().width));
      drawn_ = true;
    }
    changed_.wait_for(lock, kBetween, [this] { return ended_; });
  }
}

void ProgressLine::show(int64_t done, int64_t total) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  done_ = done;
  total_ = total;
  wanted_ = true;
}

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  wanted_ = false;
  if (!drawn_) return;
  write_to_terminal("\r\033[K");
  drawn_ = false;
}

}  // namespace stint
