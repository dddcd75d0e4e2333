// What local times that name no zone are ahead of UTC: one offset, or one that changes with the seasons.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace stint {

class LocalZone {
 public:
  struct Change {
    Instant from;
    Duration east_of_utc;
  };

  LocalZone() = default;  // UTC
  LocalZone(Duration east_of_utc) : before_(east_of_utc) {}
  /// @param changes  ascending. @param before  what holds until the first.
  LocalZone(std::string name, Duration before, std::vector<Change> changes)
      : name_(std::move(name)), before_(before), changes_(std::move(changes)) {}

  /// `Europe/Berlin`; of a single offset its seconds, "0" for UTC.
  [[nodiscard]] std::string name() const;
  /// When a clock there showed what would be `as_utc` in UTC. Of a time that clocks show twice the first, of one that they pass over what
  /// it would have been without the change.
  [[nodiscard]] Instant instant_of(Instant as_utc) const;
  /// The second instant at which clocks there show what they show at `first`; none where they show it once.
  [[nodiscard]] std::optional<Instant> shown_again(Instant first) const;

 private:
  [[nodiscard]] Duration offset_at(Instant at) const;

  std::string name_;
  Duration before_;
  std::vector<Change> changes_;
};

/// As parse_instant(); a time without zone is one of `zone`.
Result<Instant> parse_instant(std::string_view text, const LocalZone& zone);

}  // namespace stint
