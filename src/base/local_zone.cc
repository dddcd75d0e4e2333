#include "base/local_zone.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stint {

std::string LocalZone::name() const { return name_.empty() ? fmt::format("{}", before_.whole_seconds()) : name_; }

Duration LocalZone::offset_at(Instant at) const {
  const auto next = std::ranges::upper_bound(changes_, at, {}, &Change::from);
  return next == changes_.begin() ? before_ : std::prev(next)->east_of_utc;
}

Instant LocalZone::instant_of(Instant as_utc) const {
  if (changes_.empty()) return as_utc - before_;
  // No zone is further than a day from UTC, and none changes twice within two days.
  const Duration day = Duration::hours(24);
  const std::array<Duration, 2> offsets = {offset_at(as_utc - day), offset_at(as_utc + day)};
  std::optional<Instant> first;
  for (const Duration offset : offsets)
    if (const Instant at = as_utc - offset; offset_at(at) == offset && (!first || at < *first)) first = at;
  return first.value_or(as_utc - offsets[0]);
}

std::optional<Instant> LocalZone::shown_again(Instant first) const {
  const Duration now = offset_at(first), later = offset_at(first + Duration::hours(24));
  const Instant again = first + now - later;
  return later < now && offset_at(again) == later ? std::optional(again) : std::nullopt;
}

Result<Instant> parse_instant(std::string_view text, const LocalZone& zone) {
  auto at = parse_instant(text, ZonelessOffset{});
  if (!at.ok()) return at;
  // What names its zone does not move with ours.
  const Duration hour = Duration::hours(1);
  const auto moved = parse_instant(text, ZonelessOffset{hour});
  return moved.ok() && *moved == *at ? at : Result<Instant>(zone.instant_of(*at));
}

}  // namespace stint
