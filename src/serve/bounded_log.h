// Lines of a library's own log that may hold what clients sent, as far as our log takes them: each on one line and cut, and few of them,
// so that who sends what fails fills no disk and writes nothing that looks like a line of ours.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace stint::serve {

/// Any thread.
class BoundedLog {
 public:
  static constexpr int64_t kLines = 10;  ///< in each kWindow
  static constexpr Duration kWindow = Duration::minutes(1);
  static constexpr size_t kMostBytes = 300;  ///< of a message, before it is escaped

  /// @param now  of a clock that only goes forward. @return what is to be written of it, a line without its end; none: it is one too many
  std::optional<std::string> line(std::string_view message, Instant now);

 private:
  std::mutex mutex_;
  std::optional<Instant> since_;  // when the window began
  int64_t written_ = 0;           // in it
  int64_t left_out_ = 0;          // since the last line
};

}  // namespace stint::serve
