#include "cli/decide/proposals.h"

#include "codec/changes/change_file.h"
#include "host/file.h"
#include "model/change_algebra.h"
#include "model/change_text.h"

namespace stint {

Result<std::vector<Proposal>> load_proposals(const std::string& from) {
  if (looks_like_change(from)) {
    TRY_ASSIGN(ChangeList list, parse_changes(from));
    Proposal proposal;
    proposal.title = std::move(list.name);
    proposal.changes = std::move(list.changes);
    return std::vector{std::move(proposal)};
  }
  TRY_ASSIGN(const std::string bytes, read_all(from));
  return read_proposals(bytes, from);
}

std::vector<Instruction> all_instructions(const Proposal& proposal, FleetPlan fleet) {
  std::vector<Instruction> all;
  for (const Change& change : proposal.changes) {
    auto some = instructions(change, fleet);
    if (some.ok()) all.insert(all.end(), some->begin(), some->end());
    (void)carry_out(fleet, change).ok();
  }
  return all;
}

}  // namespace stint
