// A line on standard error that says how far long work is; silent when that is no terminal.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace stint {

/// Draws by itself as long as it lives: work that says nothing for a while, such as a server that does not answer, shows how long
/// it has been at it.
class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  /// How far the work is. @param total  0 = not known.
  void show(int64_t done, int64_t total);
  /// Takes the line away until the next show(), so that other output can follow.
  void clear();
  /// show() as a function; it must not outlive this.
  std::function<void(int64_t done, int64_t total)> callback() {
    return [this](int64_t done, int64_t total) { show(done, total); };
  }

 private:
  using Clock = std::chrono::steady_clock;
  void draw_now_and_then();

  const std::string what_;
  const bool terminal_;
  const Clock::time_point begin_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool ended_ = false;
  bool wanted_ = true;
  bool drawn_ = false;
  int64_t done_ = 0, total_ = 0;
  std::thread drawer_;
};

/// The line after so long. @param columns  of the terminal: the line is cut to it.
std::string progress_text(const std::string& what, int64_t done, int64_t total, int64_t elapsed_s, size_t columns);

}  // namespace stint
