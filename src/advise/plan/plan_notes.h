// What a reader must know beside the figures: how good the telemetry is, which prices are old, what the plan leaves.
#pragma once

#include "advise/books.h"

namespace stint {

struct NoteInput {
  const FleetFacts& facts;
  const AttributionSummary& attribution;
  const Ledger& ledger;
  const std::vector<UsedPrice>& prices;
};

/// Each with its remedy.
std::vector<std::string> notes_for(const NoteInput& input);

/// Which machines a bill alone shows as on in every hour of the period: idle ones may be among them.
std::string bill_alone_note(const FleetFacts& facts);
/// Memory that pods, containers and jobs hold while nothing runs; none when telemetry names no holder, or they work.
std::optional<std::string> holder_note(const std::vector<HolderAudit>& holders);

/// What was considered and not advised, by reason and with amounts, and what remains of the bill after the plan.
std::vector<std::string> out_of_reach_for(const AuditReport& report, const Books& plan);

}  // namespace stint
