// Hours of the week in which a machine may be off: which ones are idle by habit, and which windows of them pay.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "advise/node_facts.h"
#include "model/change.h"

namespace stint {

/// Hours of the week that were idle in nearly all weeks seen, watched, and not held by a run.
/// @param first_hour  hour index of timeline[0].
WeekHours idle_hours(const NodeFacts& node, int64_t first_hour);

/// The hour of the timeline since which a machine that worked before has been idle up to the end: measured throughout, for a week or more
/// (kShortestHours), and more than twice as long as it ever rested before. None: it works, it never did, or it is not there at the end.
std::optional<size_t> idle_since(const NodeFacts& node);

/// "Mon 00–08 20–24, Tue 00–08"
std::string week_text(const WeekHours& hours);

/// Which hours of a circle to be off, so that what is gained less `cost_per_window` for every coming back is greatest.
///
/// Exact: a dynamic programme over the hours with the state "is off", once for each state of the first hour; O(hours).
/// @param gain  of being off in each hour; −infinity: must be on. @return as many; of equals the one that is on.
std::vector<bool> best_off_windows(std::span<const double> gain, double cost_per_window);

/// Times the hours go from off to on, around the week.
int64_t window_count(const WeekHours& off);

}  // namespace stint
