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

/// One line: `stop:NODES`, `schedule-off:NODES=20-7` (hours UTC, every day; `+weekends`), `resize:NODES=2xTYPE[@REGION]`,
/// `switch-market:NODES=spot`, `move-region:NODES=us-east-1`, `limit-reservation:WORKLOAD=4h`, `move-off-gpu:NODES=TYPE`,
/// `commit:COUNTxTYPE[@REGION]=1y[,PAYMENT]`, `savings-plan:PROVIDER=COMMITTED,1y[,PAYMENT],TYPE[@REGION]:RATE[,…]`, `share:NODES=mig:PROFILE[@KEEP]` and `share:NODES=mps:0.5[@KEEP]` (or time-slice: jobs on
/// one GPU of NODES get that part, only KEEP stay). NODES and KEEP are separated by commas.
Result<Change> parse_change(std::string_view text);
/// Whether `text` begins like a change, with the name of a kind and a colon: else it may name a file.
bool looks_like_change(std::string_view text);

enum class WhenRefused : uint8_t { kRefuseAll, kLeaveOut };
/// What is tried together: one column of a comparison.
struct ChangeList {
  std::string name;                                    ///< shown to people
  std::vector<Change> changes;                         ///< carried out in this order; none = as it is
  WhenRefused when_refused = WhenRefused::kRefuseAll;  ///< what one that cannot be replayed means for the others
};
/// Changes in one line, joined by `;`. The name is the text.
Result<ChangeList> parse_changes(std::string_view text);

}  // namespace stint::sim
