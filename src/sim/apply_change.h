// A Change carried out on a Workload, so that a replay shows what it would do to waiting, work and money.
//
// What a replay can show: stop, schedule-off, resize, switch-market, move-region and limit-reservation. The other kinds
// (share, commit, move-off-gpu) say how work lies on GPUs or how money is paid, not what a job asks for: they are refused.
// A move to the spot market changes the price alone: no interruption is made up that the workload does not hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "model/change.h"
#include "sim/workload.h"

namespace stint::sim {

/// `workload` as it would be; it stays as it was on error. Nodes switched off are in maintenance until the last job could have
/// ended had it started at once a week after the last submission; where an outage is recorded already it stays.
/// @return error naming what is not there (node, price, workload), a kind that cannot be replayed, or a fleet without nodes.
Status apply_change(Workload& workload, const Change& change, const Catalog& catalog);

/// One line: `stop:NODES`, `schedule-off:NODES=20-7` (hours UTC, every day; `+weekends`), `resize:NODES=2xTYPE[@REGION]`,
/// `switch-market:NODES=spot`, `move-region:NODES=us-east-1`, `limit-reservation:WORKLOAD=4h`. NODES are separated by commas.
Result<Change> parse_change(std::string_view text);
/// Whether `text` begins like a change, with the name of a kind and a colon: else it may name a file.
bool looks_like_change(std::string_view text);

/// What is tried together: one column of a comparison.
struct ChangeList {
  std::string name;             ///< shown to people
  std::vector<Change> changes;  ///< carried out in this order; none = as it is
};
/// Changes in one line, joined by `;`. The name is the text.
Result<ChangeList> parse_changes(std::string_view text);

}  // namespace stint::sim
