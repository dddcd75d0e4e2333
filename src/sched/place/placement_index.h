// PlacementIndex: the best node for a request, without looking at every node for every decision.
//
// Equal requests are interned, and a decision changes one node. So per request a score of every node is kept; when the
// request is asked for again only the nodes that changed since (NodeTable's log) are scored anew, and the best is found
// through the best of each block of 64 nodes. The scores of the requests not asked for longest are dropped first.
//
// It follows one NodeTable: keep one index per table. The values it keeps follow from the table alone, so it can be copied
// with it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/prng.h"
#include "sched/ids.h"
#include "sched/place/placement_score.h"

namespace stint::sched {

class PlacementIndex {
 public:
  /// @param seed  of Placement::kRandom. @param memory_limit_bytes  of all scores kept; at least one request's are.
  explicit PlacementIndex(Placement policy, uint64_t seed = 0, size_t memory_limit_bytes = size_t{64} << 20);

  /// What is asked for and how often, where that is known beforehand.
  void expect(std::span<const ShapeCount> mix);
  /// `count` tasks of the shape were asked for. Policies that look at the mix take up what they saw whenever it has
  /// grown by half, which drops all scores; the others ignore it.
  void observe(const PlacementShape& shape, int64_t count = 1);

  struct Spot {
    NodeId node;
    uint64_t gpus = 0;  ///< Take::gpus
  };
  /// The best node that has room now; nullopt = none has.
  /// @param request  equal ids mean equal shape and equal `allowed`.
  /// @param allowed  one bit per node, 64 to a word; empty = all nodes. Nodes beyond it are not allowed.
  std::optional<Spot> best(const NodeTable& nodes, RequestId request, const PlacementShape& shape,
                           std::span<const uint64_t> allowed = {});
  /// `allowed` of this request is another from now on.
  void forget(RequestId request);

  [[nodiscard]] const PlacementScorer& scorer() const { return scorer_; }

 private:
  friend struct SnapshotParts;
  struct Scores {
    RequestId request;
    uint64_t read_to = 0;  ///< position in the table's log
    uint64_t last_used = 0;
    std::vector<int32_t> of_node;  ///< kNoFit where it does not fit or is not allowed
    std::vector<int32_t> of_block;
  };
  Scores& scores_of(RequestId request, size_t nodes);
  void refresh(Scores& scores, const NodeTable& nodes, const PlacementShape& shape, std::span<const uint64_t> allowed);
  void drop_all();
  NodeId draw(const Scores& scores);
  uint64_t draw_gpus(const NodeRecord& node, const PlacementShape& shape);

  PlacementScorer scorer_;
  Prng random_;
  size_t memory_limit_bytes_;
  uint64_t uses_ = 0;
  std::vector<Scores> kept_;
  std::vector<int32_t> slot_of_request_;  ///< −1 = none
  std::vector<ShapeCount> seen_;          ///< ascending by shape
  int64_t seen_requests_ = 0;
  int64_t expected_requests_ = 0;  ///< seen_requests_ when the scorer last took it up
};

}  // namespace stint::sched
