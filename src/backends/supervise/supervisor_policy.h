// What a supervisor does next: pure decisions about one command, without processes, files or a clock.
//
//   waiting ──started──► running ──ended well──► done
//      ▲                  │   │
//      ├──ended badly─────┘   └─notice─► leaving ──ended, or out of time and killed──► done
//      └──ended, and the notice was taken back──────┘
//
// A command that ends badly is started again after a pause that doubles each time. What counts against the limit are ends
// in a row without a new good checkpoint: a command that gets on is worth going on with. One that ends with a shell's codes for a
// program that cannot be executed (126) or found (127), before it saved anything, would fail alike each time: it is not started again.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "host/process.h"

namespace stint {

struct SupervisorLimits {
  int retries = 3;  ///< starts again without a new checkpoint in between; 0 = never starts again
  Duration first_pause = Duration::seconds(5);
  Duration longest_pause = Duration::minutes(5);
  Duration notice = Duration::seconds(120);   ///< between a signal and the end of the machine
  Duration alert_after = Duration::hours(2);  ///< without a good checkpoint; 0 = never
};

class SupervisorPolicy {
 public:
  enum class Phase : uint8_t { kWaiting, kRunning, kLeaving, kDone };

  SupervisorPolicy(const SupervisorLimits& limits, Instant now) : limits_(limits), restart_at_(now) {}

  [[nodiscard]] Phase phase() const { return phase_; }
  /// kWaiting: when to start it.
  [[nodiscard]] Instant restart_at() const { return restart_at_; }
  /// kLeaving: when to end it by force.
  [[nodiscard]] Instant kill_at() const { return kill_at_; }
  /// When the machine may be gone; none before a notice.
  [[nodiscard]] std::optional<Instant> gone_at() const { return gone_at_; }
  /// How the command ended last: what the supervisor ends with.
  [[nodiscard]] ExitStatus last_end() const { return last_end_; }
  [[nodiscard]] int starts() const { return starts_; }

  void started(Instant now);
  void ended(Instant now, ExitStatus how);
  /// The machine will be taken away, or somebody wants the command to leave.
  struct Notice {
    Duration left;  ///< until then. Of several notices the one that comes first holds
    Duration
        reserve;  ///< is needed after the command has ended, to copy its last checkpoint; at most half of `left` is set aside
  };
  void notice(Instant now, Notice notice);
  /// It stays after all: a command that was told to leave is started again once it has.
  void stay();
  void good_checkpoint(Instant now);

  /// True once for each spell of `alert_after` in which a command ran and no good checkpoint came.
  bool alert_due(Instant now);
  /// When alert_due() will be true, while nothing else happens.
  [[nodiscard]] std::optional<Instant> alert_at() const;

 private:
  SupervisorLimits limits_;
  Phase phase_ = Phase::kWaiting;
  Instant restart_at_;
  Instant kill_at_;
  std::optional<Instant> gone_at_;
  bool stays_ = false;  ///< kLeaving: the reason to leave is gone
  ExitStatus last_end_;
  int starts_ = 0;
  bool saved_since_start_ = false;
  int ends_without_progress_ = 0;
  std::optional<Instant> without_since_;  ///< when the present spell without a checkpoint began; none = told already
};

}  // namespace stint
