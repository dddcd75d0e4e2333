// The algebra of Changes: which commute, what a sequence of them comes to, which contradict each other.
//
// Two changes commute when neither alters, on any node, what the other alters or depends on. Of a node that is: whether it is
// there, how it is bought (type, region and market, which make its price), its hours and how its GPUs are shared. Hours, limits
// and commitments only add up, so two additions commute. The rule is cautious: a yes holds for a FleetPlan and for the workload of
// a replay, a no may be for want of knowing (a commitment that names no nodes depends on all).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/change.h"

namespace stint {

/// Whether either order gives the same fleet. Symmetric; a change commutes with one equal to it, unless it alters whether nodes
/// are there: then the second finds them gone.
bool commute(const Change& a, const Change& b);

/// Two changes of which the second cannot be meant after the first, or takes it back.
struct Contradiction {
  size_t first = 0, second = 0;  ///< indexes, first < second
  std::string what;              ///< "node-7: goes to spot and to on-demand"
};
/// @param changes  in the order they are to be made. @return ascending by first, then second; one of each pair.
std::vector<Contradiction> contradictions(std::span<const Change> changes);

}  // namespace stint
