// What is promised of services: p99 of their requests. Who runs a fleet says it of all in a file of goals; who runs a service says it beside the
// service, as a tag `p99` of its machines on the bill or a label of its pods: 80ms, 0.2s. Of several the strictest counts.
#pragma once

#include <optional>
#include <string_view>

#include "advise/goals.h"
#include "advise/node_facts.h"
#include "model/run_owner.h"

namespace stint {

/// "80ms", "0.2s" → milliseconds, > 0; none = it is no such time.
std::optional<double> parse_promise(std::string_view text);

/// Goals of p99: milliseconds by service, percent of today's for all.
void add_promises(FleetFacts& fleet, std::span<const Goal> goals);
/// Tags of bill lines: of all services on the line's machine.
void add_promises(FleetFacts& fleet, const Ledger& ledger);
/// Labels of pods: of the service that the pod belongs to.
void add_promises(FleetFacts& fleet, const History& history, const RunOwners& owners);

/// What may become of p99 of a service.
struct P99Bound {
  double pct =
      kTodaysP99Pct;  ///< at most, of as it is: the stricter of its own promise, where that and p99 now are known in milliseconds, and
                      ///< that of all services; FleetFacts::unpromised_pct where there is neither
  bool promised = false;
};
/// @param now_ms  p99 as measured; none = it was not.
P99Bound p99_bound(const FleetFacts& fleet, const std::string& service, std::optional<double> now_ms);
/// The bounds of all, as a sentence goes on: "keep p99 within …".
std::string promise_text(const FleetFacts& fleet);

}  // namespace stint
