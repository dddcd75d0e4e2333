// Small pieces that all finders need: grouping nodes, wording figures, judging confidence.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "advise/find/finder.h"

namespace stint {

using NodeGroup = std::vector<const NodeFacts*>;
/// Nodes of one kind are one finding. Keys and members in ascending order: the same fleet gives the same findings.
using NodeGroups = std::map<std::string, NodeGroup>;

std::vector<std::string> names_of(const NodeGroup& group);
/// "3 × p4d.24xlarge", or the node's name when it is one.
std::string title_of(const NodeGroup& group);
std::string percent(double value, int decimals = 1);
std::string percent(const std::optional<double>& value, int decimals = 1);
std::string gibibytes(const std::optional<Bytes>& value);
/// Cost per month of the group on the books.
Money monthly_of(const FleetView& fleet, const NodeGroup& group);
/// By the hour, as the books have it: the time all of them are on, in whole instance-hours.
std::vector<int64_t> instances_in_use(const FleetView& fleet, const NodeGroup& group);
/// Mean utilisation over the hours of the group; none without telemetry.
std::optional<double> mean_utilization(const NodeGroup& group);
/// Telemetry of the worst node: good → high, fair → medium, else low; a period under 14 days is at most medium,
/// under 7 days low.
Level confidence_of(const FleetView& fleet, const NodeGroup& group);
Level at_most(Level level, Level limit);
/// Files a commitment. Where the period is shorter than kDaysToCommit its risk is high, whoever allows it; where it is shorter than
/// FleetView::commit_on_days it is not advised, but filed as one on few days.
void propose_commitment(const FleetView& fleet, Finding finding, Proposals& out);
/// Utilisation, idle share, memory and coverage, for findings that rest on them.
void add_use(Finding& finding, const NodeGroup& group);
/// "cost now: 5 nodes, 45,532.80 USD/month"
std::string cost_line(const FleetView& fleet, const NodeGroup& group);

/// Telemetry of every GPU: one without telemetry may be the busy one.
bool sees_all_gpus(const NodeFacts& node);
/// Hours with telemetry of the GPU watched longest.
double watched_hours(const NodeFacts& node);

/// Mean utilisation at which a node counts as busy with the whole GPU.
inline constexpr double kLowUtilizationPct = 50;

}  // namespace stint
