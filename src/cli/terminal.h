// A terminal taken over for a full-screen view, and given back as it was: keys one at a time, lines redrawn where they changed.
// Source: ECMA-48 control sequences, as xterm documents them (invisible-island.net/xterm/ctlseqs).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/run/top_view.h"

namespace stint {

struct KeyPress {
  TopKey key = TopKey::kText;
  char text = 0;
};

/// One at a time, on the main thread.
class Terminal {
 public:
  /// @return error when standard input or output is no terminal.
  static Result<Terminal> take();
  Terminal(Terminal&& other) noexcept;
  Terminal& operator=(Terminal&&) = delete;
  ~Terminal();

  [[nodiscard]] TopSize size() const;
  /// Waits at most so long. @return none when the time is up or the size has changed first.
  std::optional<KeyPress> key(Duration patience);
  /// SIGTERM, SIGHUP or Ctrl-C came, or the terminal is gone: give it back and leave.
  [[nodiscard]] bool asked_to_leave() const;
  /// Shows these lines, writing only those that differ from what is there.
  void show(const std::vector<std::string>& lines);

 private:
  Terminal() = default;
  bool taken_ = false;
  std::vector<std::string> shown_;
  TopSize shown_size_;
  std::string pending_;  ///< bytes read and not yet a key
};

/// Takes the first key off the front of `bytes`. @return none: the beginning of one whose rest is still to come, or nothing.
std::optional<KeyPress> take_key(std::string& bytes);

}  // namespace stint
