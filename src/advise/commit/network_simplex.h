// Least-cost transshipment on a network without capacities: the primal network simplex.
//
// A spanning tree of the network is a basis; an arc outside of it whose reduced cost is below zero closes a cycle, flow is pushed
// around it until an arc of the tree is empty, and that one leaves. Keeping every empty tree arc pointed at the root (a strongly
// feasible tree) makes the sequence of bases finite. Integers in, integers out: the answer is exact.
// Source: Cunningham 1976, "A network simplex method"; Ahuja, Magnanti, Orlin 1993, "Network Flows", chapter 11.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stint {

struct NetworkArc {
  int32_t from = 0;
  int32_t to = 0;
  int64_t cost = 0;  ///< per unit of flow, ≥ 0
  int64_t flow = 0;  ///< in: of a tree arc, the flow to begin with; out: the answer
};

/// Finds the flow of least cost. On entry the arcs of `tree` carry a flow that meets every supply and all others are empty.
/// @param tree  for each node but the last (the root) an arc that leaves it, towards the root.
/// @return pivots made.
int64_t minimise_cost(std::vector<NetworkArc>& arcs, std::span<const int32_t> tree);

}  // namespace stint
