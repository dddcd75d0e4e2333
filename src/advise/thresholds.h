// From when on evidence counts: what several finders and proofs ask alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace stint {

inline constexpr size_t kWeek = 168;  ///< hours
inline constexpr Duration kWeekLength = Duration::hours(168);

inline constexpr double kDaysToCommit = 90;        ///< of use, from which on a commitment to a year or more counts in a plan
inline constexpr double kFewestDaysToCommit = 28;  ///< of use, the least that a user may have count instead
inline constexpr double kIdlePct = 99;             ///< percent of the measured time, from which on a machine counts as idle
inline constexpr double kHostBusyPct = 20;         ///< percent of its CPUs, from which on the machine does work without its GPUs
inline constexpr double kShortestHours = 7 * 24;   ///< measured, before anything is said of a machine
inline constexpr double kSmallestSaving = 0.05;    ///< of the machine's price: less is not worth a move
inline constexpr uint16_t kWatchedSeconds = 1800;  ///< of an hour that counts as measured

}  // namespace stint
