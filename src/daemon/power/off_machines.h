// Machines that are switched off by the daemon's own doing: told by who switches them, asked by who shows and writes what they cost.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "daemon/engine/views.h"

namespace stint {

/// From any thread.
class OffMachines {
 public:
  /// @param names  all that are off at that instant.
  void put(const std::set<std::string>& names, Instant now);
  /// Shows those as off that are.
  void mark(std::vector<NodeView>& nodes) const;
  /// When it was off: what ended within the last day, and up to now if it is off. Ascending.
  [[nodiscard]] std::vector<Interval> absences(std::string_view name, Instant now) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Instant, std::less<>> since_;  // of those that are off
  std::deque<std::pair<std::string, Interval>> been_;  // ascending by end
};

}  // namespace stint
