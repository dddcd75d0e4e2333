// Changes as people type them: one line each, for command lines and files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/change.h"

namespace stint {

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

}  // namespace stint
