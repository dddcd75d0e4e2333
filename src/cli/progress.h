// A line on standard error that says how far long work is; silent when that is no terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace stint {

class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  /// Draws at most ten times a second. @param total  0 = not known.
  void show(int64_t done, int64_t total);
  /// Takes the line away, so that other output can follow.
  void clear();
  /// show() as a function; it must not outlive this.
  std::function<void(int64_t done, int64_t total)> callback() {
    return [this](int64_t done, int64_t total) { show(done, total); };
  }

 private:
  std::string what_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace stint
