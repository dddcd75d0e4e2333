// Around any backend: orders come late, twice or not at all; what is told comes late, twice, in another order or not at all. Everything
// is drawn from a seed.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include "backends/backend.h"
#include "base/prng.h"

namespace stint {

struct BackendFaults {
  double lost = 0;   ///< of orders, and of what is told of tasks
  double twice = 0;  ///< likewise
  double late = 0;   ///< likewise: each by a time of its own below `delay`, so that what is told comes in another order
  Duration delay;
};

class FaultyBackend final : public Backend {
 public:
  FaultyBackend(Backend& backend, const BackendFaults& faults, uint64_t seed)
      : backend_(backend), faults_(faults), random_(seed) {}

  [[nodiscard]] std::string_view name() const override { return backend_.name(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return backend_.notes(); }
  [[nodiscard]] bool is_ready() const override { return backend_.is_ready(); }

  /// Orders do not overtake each other.
  void submit(std::vector<Order> orders) override {
    for (Order& order : orders) {
      const int times = draw();
      arrives_ = std::max(arrives_, std::max(now_, order.at) + late());
      for (int i = 0; i < times; ++i)
        orders_.emplace(arrives_, order);
    }
    deliver();
  }

  std::vector<BackendEvent> drain(Instant now) override {
    now_ = std::max(now_, now);
    deliver();
    for (BackendEvent& event : backend_.drain(now)) {
      // Of machines the last is what counts, and they are told once: not lost, and not in another order.
      const bool is_machine = std::holds_alternative<MachineReport>(event);
      const int times = is_machine ? 1 : draw();
      for (int i = 0; i < times; ++i)
        events_.emplace(is_machine ? now : now + late(), event);
    }
    std::vector<BackendEvent> told;
    while (!events_.empty() && events_.begin()->first <= now)
      told.push_back(std::move(events_.extract(events_.begin()).mapped()));
    return told;
  }

  [[nodiscard]] std::optional<Instant> next_event_at() const override {
    std::optional<Instant> next = backend_.next_event_at();
    if (!orders_.empty()) next = std::min(next.value_or(orders_.begin()->first), orders_.begin()->first);
    if (!events_.empty()) next = std::min(next.value_or(events_.begin()->first), events_.begin()->first);
    return next;
  }
  [[nodiscard]] std::vector<LaunchKey> running() const override { return backend_.running(); }
  [[nodiscard]] std::vector<MachineReport> machines() const override { return backend_.machines(); }
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery& query) const override { return backend_.read_log(query); }

  /// As when its process ends: what was under way is lost.
  void crash() {
    orders_.clear();
    events_.clear();
  }
  void heal() { faults_ = {}; }

 private:
  int draw() {
    const double drawn = random_.uniform();
    return drawn < faults_.lost ? 0 : drawn < faults_.lost + faults_.twice ? 2 : 1;
  }
  Duration late() {
    if (random_.uniform() >= faults_.late) return {};
    return Duration::nanoseconds(static_cast<int64_t>(random_.below(static_cast<uint64_t>(faults_.delay.count_ns()) + 1)));
  }
  void deliver() {
    std::vector<Order> due;
    while (!orders_.empty() && orders_.begin()->first <= now_)
      due.push_back(std::move(orders_.extract(orders_.begin()).mapped()));
    if (!due.empty()) backend_.submit(std::move(due));
  }

  Backend& backend_;
  BackendFaults faults_;
  Prng random_;
  Instant now_;
  Instant arrives_;
  std::multimap<Instant, Order> orders_;         ///< under way, by the instant they arrive
  std::multimap<Instant, BackendEvent> events_;  ///< likewise
};

}  // namespace stint
