#include "backends/supervise/supervisor_policy.h"

#include <algorithm>
#include <utility>

namespace stint {
namespace {

// What a shell ends with when a program cannot be executed, or is not there.
constexpr int kShellCannotExecute = 126;
constexpr int kShellCannotFind = 127;

Duration pause_after(const SupervisorLimits& limits, int ends) {
  Duration pause = limits.first_pause;
  for (int i = 1; i < ends && pause < limits.longest_pause; ++i)
    pause = pause * 2;
  return std::min(pause, limits.longest_pause);
}

}  // namespace

void SupervisorPolicy::started(Instant now) {
  CHECK(phase_ == Phase::kWaiting, "started in phase {}", static_cast<int>(phase_));
  phase_ = Phase::kRunning;
  saved_since_start_ = false;
  // A pause between two runs belongs to the spell without a checkpoint; a spell that was told of does not begin again.
  if (++starts_ == 1) without_since_ = now;
}

void SupervisorPolicy::ended(Instant now, ExitStatus how) {
  last_end_ = how;
  if (std::exchange(stays_, false)) {
    phase_ = Phase::kWaiting;
    restart_at_ = now;
    return;
  }
  const bool cannot_start =
      !saved_since_start_ && (how.shell_code() == kShellCannotExecute || how.shell_code() == kShellCannotFind);
  if (phase_ == Phase::kLeaving || how.shell_code() == 0 || cannot_start || ends_without_progress_ >= limits_.retries) {
    phase_ = Phase::kDone;
    return;
  }
  ++ends_without_progress_;
  phase_ = Phase::kWaiting;
  restart_at_ = now + pause_after(limits_, ends_without_progress_);
}

void SupervisorPolicy::notice(Instant now, Notice notice) {
  stays_ = false;
  const bool comes_first = !gone_at_ || now + notice.left < *gone_at_;
  if (comes_first) gone_at_ = now + notice.left;
  if (phase_ == Phase::kWaiting) phase_ = Phase::kDone;
  if (phase_ != Phase::kRunning && !(phase_ == Phase::kLeaving && comes_first)) return;
  phase_ = Phase::kLeaving;
  const Duration half = Duration::nanoseconds(notice.left.count_ns() / 2);
  kill_at_ = *gone_at_ - std::clamp(notice.reserve, Duration(), half);
}

void SupervisorPolicy::stay() {
  if (phase_ != Phase::kLeaving) return;
  stays_ = true;
  gone_at_.reset();
}

void SupervisorPolicy::good_checkpoint(Instant now) {
  saved_since_start_ = true;
  ends_without_progress_ = 0;
  without_since_ = now;
}

std::optional<Instant> SupervisorPolicy::alert_at() const {
  if (!without_since_ || limits_.alert_after <= Duration() || phase_ == Phase::kDone) return std::nullopt;
  return *without_since_ + limits_.alert_after;
}

bool SupervisorPolicy::alert_due(Instant now) {
  const auto at = alert_at();
  if (!at || now < *at) return false;
  without_since_.reset();
  return true;
}

}  // namespace stint
