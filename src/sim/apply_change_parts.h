// What the ways of applying a Change share; not for others (sim/apply_change.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/apply_change.h"

namespace stint::sim {

/// Indexes of the nodes named. @return error for one that is not there, and for no names at all.
Result<std::vector<uint32_t>> find_nodes(const Workload& workload, const std::vector<std::string>& names);

enum class WhenEmpty { kError, kAllowed };
/// Nodes and their outages go; the rest moves up. @param when_empty  whether the last node may go, since others follow.
Status remove_nodes(Workload& workload, const std::vector<std::string>& names, WhenEmpty when_empty);

/// Until when something may still run: work that started late, and a queue that has to be worked off, at half the speed the
/// fleet could do.
Instant horizon_of(const Workload& workload);

/// The request as the workload's own, added when it is new.
sched::RequestId intern_request(Workload& workload, const sched::Request& request);

/// When the node is in maintenance, ascending.
std::vector<Interval> maintenance_of(const Workload& workload, NodeId node);
/// The node is in maintenance at these times, ascending, as far as it is there: where it is in maintenance already nothing is added,
/// and a failure or an interruption that one of them meets takes its place.
void add_maintenance(Workload& workload, NodeId node, std::span<const Interval> times);

/// When a machine is there: from `from` until `until`, but for the times away, ascending.
struct Presence {
  Instant from;
  Instant until;
  std::vector<Interval> away;
};
/// When the `count` machines that take over from `nodes` are there. If all stay, each is there as before; otherwise the k-th is there
/// whenever at least k of `nodes` were.
/// @param count  ≤ nodes.size()
std::vector<Presence> stand_in_for_all(const Workload& workload, std::span<const uint32_t> nodes, size_t count);
/// The node is there at these times, and in maintenance at no others.
void set_presence(Workload& workload, NodeId node, const Presence& presence);

using Notes = std::vector<std::string>;
/// Each leaves the workload in any state on error.
/// @param before  rates of the nodes of the change, as they were.
Result<Notes> apply_spot(Workload& workload, const SwitchMarket& change, const ChangeSettings& settings,
                         std::span<const Rate> before);
Result<Notes> apply_commit(Workload& workload, const Commit& change, const ChangeSettings& settings);
Result<Notes> apply_savings_plan(Workload& workload, const SavingsPlan& change);
Result<Notes> apply_share(Workload& workload, const ShareGpus& change);
Result<Notes> apply_move_off(Workload& workload, const MoveOffGpu& change, const ChangeSettings& settings);

}  // namespace stint::sim
