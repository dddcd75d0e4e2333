#include "host/event_clock.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "host/clock.h"
#include "host/file.h"

namespace stint {
namespace {

/// Below this a wall clock that is ahead is followed whatever runs: the two clocks are not read at one instant.
constexpr Duration kStep = Duration::seconds(1);
/// It gains or loses at most one part in so many.
constexpr int64_t kSlowest = 1000;
constexpr Duration kMostAhead = Duration::hours(24 * 365 * 250);

}  // namespace

struct EventClock::State {
  mutable std::mutex mutex;
  Instant given;                    // last
  std::optional<Duration> at;       // since boot, when it was given
  std::optional<Duration> goes_on;  // ahead of the time since boot by so much, from an earlier process
  bool may_step = true;
  Duration ahead_of_wall;
  std::string path;  // of the mark; empty = none is kept
  std::string boot_id;
  std::optional<Duration> marked;
};

std::string to_json(const ClockMark& mark) {
  return nlohmann::ordered_json{{"boot_id", mark.boot_id}, {"ahead_ns", mark.ahead.count_ns()}}.dump(
             -1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

Result<ClockMark> parse_clock_mark(std::string_view json) {
  const auto root = nlohmann::json::parse(json, nullptr, false);
  if (!root.is_object()) return invalid("a clock's mark is no JSON object");
  const auto boot = root.find("boot_id");
  const auto ahead = root.find("ahead_ns");
  if (boot == root.end() || !boot->is_string() || ahead == root.end() || !ahead->is_number_integer() ||
      ahead->get<int64_t>() < 0 || ahead->get<int64_t>() > kMostAhead.count_ns())
    return invalid("a clock's mark has no boot_id or no ahead_ns");
  return ClockMark{boot->get<std::string>(), Duration::nanoseconds(ahead->get<int64_t>())};
}

EventClock::EventClock(Instant not_before) : state_(std::make_shared<State>()) { state_->given = not_before; }

EventClock EventClock::kept_in(const std::string& path, Instant not_before) {
  EventClock clock(not_before);
  State& s = *clock.state_;
  s.path = path;
  s.boot_id = boot_id();
  const auto text = read_all(path);
  const auto mark = parse_clock_mark(text.ok() ? *text : std::string());
  if (mark.ok() && !s.boot_id.empty() && mark->boot_id == s.boot_id) {
    s.goes_on = mark->ahead;
    s.may_step = false;  // what ran then may run still
  }
  return clock;
}

void EventClock::may_step(bool may) {
  const std::lock_guard lock(state_->mutex);
  state_->may_step = may;
}

Instant EventClock::read(Instant wall, Duration since_boot) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (!s.at) {
    s.given = std::max(s.given, s.goes_on ? Instant() + *s.goes_on + since_boot : wall);
  } else {
    const Duration passed = std::max(since_boot - *s.at, Duration());
    const Instant alone = s.given + passed;
    const Duration most = Duration::nanoseconds(passed.count_ns() / kSlowest);
    const Duration gap = wall - alone;
    const bool at_once = gap > Duration() && (s.may_step || gap <= kStep);
    s.given = at_once ? wall : alone + std::clamp(gap, Duration() - most, most);
  }
  s.at = since_boot;
  s.ahead_of_wall = s.given - wall;
  const Duration ahead = s.given - (Instant() + since_boot);
  if (!s.path.empty() && (!s.marked || ahead - *s.marked > kStep || *s.marked - ahead > kStep)) {
    s.marked = ahead;
    (void)write_file_atomically(s.path, to_json({s.boot_id, ahead}));
  }
  return s.given;
}

Instant EventClock::now() { return read(stint::now(), since_boot()); }

Duration EventClock::ahead_of_wall() const {
  const std::lock_guard lock(state_->mutex);
  return state_->ahead_of_wall;
}

}  // namespace stint
