// A Change carried out on a Workload, so that a replay shows what it would do to waiting, work and money.
//
// What a replay can show and what not. Which jobs a change speaks of (share, move-off-gpu) is known by where they ran, so a workload
// that does not say so cannot be changed that way. A move to the spot market draws interruptions. Nothing runs faster or slower than
// recorded: differences in speed between GPU models, or between neighbours on one GPU, are not counted. The notes say what was assumed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "model/change.h"
#include "sim/spot_math.h"
#include "sim/workload.h"

namespace stint::sim {

/// What a spot node is while there is no spot capacity.
enum class SpotGap : uint8_t {
  kAway,      ///< nothing, until capacity returns
  kOnDemand,  ///< the same machine on demand, at the price paid before; when capacity returns the work moves back
};
/// Jobs of which it is not recorded that they save checkpoints. Where a change is advised, those that ran on nodes that move save from then on,
/// at Daly's interval, and have no time limit: it was set for uninterrupted runs. Those that ran elsewhere are kept off spot.
enum class UnsavedJobs : uint8_t { kAsTheyAre, kSaveOrKeepOff };

/// The defaults are what an audit assumes, so that one change has one answer wherever it is replayed.
struct ChangeSettings {
  const Catalog* catalog = nullptr;
  uint64_t seed = 42;                                             ///< of the spot interruptions
  Duration spot_mean_between = InterruptionModel().mean_between;  ///< interruptions of one spot node; kUnlimited = none are drawn
  std::map<std::string, Duration> spot_between_of = {};           ///< of these nodes by name, in place of it: what is drawn
  std::map<std::string, Duration> spot_belief_of = {};            ///< what work saves by, where that is not what is drawn
  std::map<std::string, Instant> stopped_at = {};                 ///< nodes that a stop gives back then, and not before all work
  SpotGap spot_gap = SpotGap::kOnDemand;
  UnsavedJobs unsaved = UnsavedJobs::kSaveOrKeepOff;
};

/// `workload` as it would be; it stays as it was on error. Nodes switched off are in maintenance until the last job could have
/// ended; where an outage is recorded already it stays.
/// @return what was assumed, a sentence each; an error naming what is not there (node, price, workload), what cannot be known, or a
/// fleet without nodes.
Result<std::vector<std::string>> apply_change(Workload& workload, const Change& change, const ChangeSettings& settings);
/// The same without a copy: on error the workload is left in any state.
Result<std::vector<std::string>> apply_in_place(Workload& workload, const Change& change, const ChangeSettings& settings);

}  // namespace stint::sim
