// Orders for the backend until what they are to bring about is told back. One that is not answered is given again; one that was
// refused for now, too. Nothing of it outlives the engine: what should be there is in the records. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "backends/backend.h"

namespace stint {

/// What is to become of a launch.
enum class LaunchWish : uint8_t { kStart, kStop, kKill };

class OrderDesk {
 public:
  /// One launch has one wish: a later one takes the place of an earlier one, but nothing that was to end is started.
  void want(const LaunchKey& key, LaunchWish wish);
  /// Its end is recorded.
  void forget(const LaunchKey& key);
  void clear();

  /// Wishes to be told at `at`, in order of keys; all the backend's answers are still to come.
  [[nodiscard]] std::vector<std::pair<LaunchKey, LaunchWish>> due(Instant at, bool starts_too) const;
  [[nodiscard]] std::vector<LaunchKey> take_forgotten();
  /// The order is given. @param grace  of a stop: how long its answer may take.
  void told(const LaunchKey& key, Instant at, Duration grace);
  void drop(const LaunchKey& key) { wishes_.erase(key); }
  [[nodiscard]] bool has(const LaunchKey& key) const { return wishes_.contains(key); }

  /// It runs, or it has ended.
  void answered(const Report& report);
  /// A start that cannot be done now. @return for how long it has been tried.
  Duration refused(const LaunchKey& key, Instant at);

 private:
  struct Wish {
    LaunchWish wish = LaunchWish::kStart;
    std::optional<Instant> first_told;
    Instant next;  ///< to be told then
  };
  std::map<LaunchKey, Wish> wishes_;
  std::vector<LaunchKey> forgotten_;
};

}  // namespace stint
