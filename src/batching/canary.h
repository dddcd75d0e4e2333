// A new version that gets more of the requests step by step, as long as it answers as well as the others and its promise has room for more;
// else none any more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace stint::batching {

struct CanaryRules {
  std::vector<int64_t> percent = {1, 10, 50, 100};  ///< of the requests, ascending, 1 … 100
  Duration step = Duration::minutes(5);             ///< at each of them at least
  int64_t least_requests = 100;                     ///< that it has to have had there
  std::optional<Duration> promise;                  ///< at p99
};

/// What a version, or all others together, have done since they were loaded.
struct CanarySide {
  int64_t answered = 0, failed = 0;
  std::optional<Duration> p99;  ///< of about the last minute
  double per_second = 0;        ///< requests that come
  double most_per_second = 0;   ///< up to which the promise is kept; 0: not known
};

class Canary {
 public:
  Canary(CanaryRules rules, Instant now, const CanarySide& canary, const CanarySide& others);

  /// Of the requests, that it gets now.
  [[nodiscard]] int64_t percent() const { return taken_back_ ? 0 : rules_.percent[step_]; }
  [[nodiscard]] bool taken_back() const { return taken_back_; }
  /// To be asked every second or so. @return what has changed, for people; none: nothing
  std::optional<std::string> look(Instant now, const CanarySide& canary, const CanarySide& others);

 private:
  struct Since {
    Instant at;
    CanarySide canary, others;
  };
  /// What is wrong with it since the step began; none: nothing that is known yet.
  [[nodiscard]] std::optional<std::string> fault(const CanarySide& canary, const CanarySide& others) const;

  const CanaryRules rules_;
  size_t step_ = 0;
  bool taken_back_ = false;
  bool held_ = false;  ///< for want of room, and that was said
  Since since_;
};

}  // namespace stint::batching
