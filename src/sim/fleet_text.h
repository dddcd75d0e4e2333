// A fleet in one line: "2xp4d.24xlarge@us-east-1:spot,16x8" is two spot instances by the catalogue and sixteen machines of one's own
// with eight GPUs each.
#pragma once

#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "sim/workload.h"

namespace stint::sim {

/// COUNTxTYPE[@REGION][:MARKET], separated by commas; MARKET is on-demand (default), spot or reserved (one year), REGION the
/// cheapest that has a price when it is not named. TYPE as a number is that many GPUs of an owned machine without a price.
/// @return error naming the part: unknown type, no price known, more than 16 GPUs, more than 100,000 nodes.
Result<std::vector<SimNode>> parse_fleet(std::string_view text, const Catalog& catalog);

/// The same with pools that grow and shrink by demand: MIN..MAX instead of COUNT, as in 1..8xp4d.24xlarge:spot. One node more for
/// as many waiting GPUs as it has; the other rules are those of sched/scaling.h.
struct Fleet {
  std::vector<SimNode> nodes;
  std::vector<NodePool> pools;
};
Result<Fleet> parse_elastic_fleet(std::string_view text, const Catalog& catalog);

/// One machine of a type of the catalogue, with or without GPUs, unnamed. @param region  empty = the cheapest with a price.
Result<SimNode> rented_node(std::string_view type, std::string_view region, Market market, const Catalog& catalog);

}  // namespace stint::sim
