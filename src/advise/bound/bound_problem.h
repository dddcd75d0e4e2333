// A fleet's work as a covering problem: what each machine and service needs by the hour, and every offer that the planner might use for it.
//
// The facts, rules and price look-ups are the finders' own; where they leave room the bound takes the cheaper side:
// - An hour in which no GPU of a machine worked needs nothing (stop, schedule off, limit), nor one that is idle by habit. An hour without
//   telemetry may have been busy, so it counts as work, but on machines that come and go by themselves.
// - Work needs GPUs, not machines: as many as were active, at the price of one GPU of a machine that may be of any type of its provider, in its region or
//   an allowed one, with enough memory and, for work that keeps a GPU to itself, as fast as its busiest 5 % ask (the faster roof counts).
// - Serving, batch inference and notebooks share GPUs in any parts: busy time adds up without queues and walls, and so does memory. A service
//   needs the memory of one replica while it gets requests. So a planner that knows more of serving stays above the bound.
// - Work that may be on spot may all be there, at the spot price for the hours that it is there.
// - What is on demand may be covered by commitments and savings plans of the terms and risk that were allowed.
// Owned and reserved machines cost what they cost.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "advise/bound/covering_bound.h"
#include "advise/finding.h"
#include "advise/node_facts.h"
#include "advise/price_lookup.h"

namespace stint {

/// What may be bought, and for what risk.
struct BoundInput {
  const FleetFacts& facts;
  const PriceLookup& prices;
  std::span<const std::string> allowed_regions;  ///< globs; empty = the region each machine is in
  CommitmentTerm longest_term = CommitmentTerm::kOneYear;
  std::span<const SavingsPlanOffer> savings_plans;
  Level max_risk = Level::kHigh;
};

/// What a machine becomes in the problem.
enum class BoundPart : uint8_t {
  kKept,  ///< owned, reserved or free: it costs what it costs
  kIdle,  ///< nothing ran on it: it may go
  kWork,
};

struct NodeInBound {
  struct Share {
    size_t work = 0;
    double part = 0;  ///< of that work, 0 … 1
  };
  BoundPart part = BoundPart::kKept;
  bool shares = false;      ///< its GPUs may be shared
  bool spot = false;        ///< its work may be on spot
  double active_gpu_s = 0;  ///< GPUs that worked, in the hours that count as work
  double filled_gpu_s = 0;  ///< the same if each GPU were full, by compute or memory, whichever asks for more
  std::vector<Share> works;
};

struct BoundProblem {
  CoveringProblem covering;
  std::vector<NodeInBound> nodes;  ///< as the facts'
};

BoundProblem bound_problem(const BoundInput& input);

}  // namespace stint
