#include "advise/commit/network_simplex.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace stint {
namespace {

constexpr int32_t kNone = -1;
__extension__ using Potential = __int128;  // a path of dear arcs may leave 64 bits

class Simplex {
 public:
  Simplex(std::vector<NetworkArc>& arcs, std::span<const int32_t> tree)
      : arcs_(arcs), nodes_(tree.size() + 1), price_(nodes_.size()) {
    const auto root = static_cast<int32_t>(tree.size());
    for (int32_t node = 0; node < root; ++node) {
      const NetworkArc& arc = arcs_[at(tree[at(node)])];
      CHECK(arc.from == node, "the arc of node {} leaves node {}", node, arc.from);
      nodes_[at(node)].arc = tree[at(node)];
      adopt(arc.to, node);
    }
    shift_subtree(root, 0);
    for (const int32_t node : order_)
      if (node != root) price_[at(node)] = price_[at(nodes_[at(node)].parent)] - arcs_[at(nodes_[at(node)].arc)].cost;
    block_ = std::max<size_t>(64, static_cast<size_t>(std::sqrt(static_cast<double>(arcs_.size()))));
  }

  int64_t run() {
    int64_t pivots = 0;
    for (int32_t entering = cheapest_arc(); entering != kNone; entering = cheapest_arc()) {
      pivot(entering);
      ++pivots;
    }
    return pivots;
  }

 private:
  struct Node {
    int32_t parent = kNone;
    int32_t arc = kNone;  // between the node and its parent, either way
    int32_t depth = 0;
    int32_t first_child = kNone;
    int32_t next = kNone;  // among the parent's children
    int32_t previous = kNone;
  };

  static size_t at(int32_t i) { return static_cast<size_t>(i); }

  [[nodiscard]] Potential reduced_cost(const NetworkArc& arc) const {
    return arc.cost + price_[at(arc.from)] - price_[at(arc.to)];
  }

  /// The most promising arc of the first block, from where the last search ended, that has any; ties: the first met.
  int32_t cheapest_arc() {
    int32_t best = kNone;
    Potential best_cost = 0;
    size_t in_block = 0;
    for (size_t seen = 0; seen < arcs_.size(); ++seen) {
      const Potential cost = reduced_cost(arcs_[next_]);
      if (cost < best_cost) {
        best_cost = cost;
        best = static_cast<int32_t>(next_);
      }
      if (++next_ == arcs_.size()) next_ = 0;
      if (++in_block < block_) continue;
      if (best != kNone) return best;
      in_block = 0;
    }
    return best;
  }

  /// Does flow that goes up from `node` to its parent go along the arc between them?
  [[nodiscard]] bool points_up(int32_t node) const { return arcs_[at(nodes_[at(node)].arc)].from == node; }

  void pivot(int32_t entering) {
    const NetworkArc& arc = arcs_[at(entering)];
    // Flow goes round from the apex down to `from`, over the arc, and from `to` up to the apex. The last arc to run empty on that
    // way leaves: that keeps the tree strongly feasible.
    int32_t from = arc.from, to = arc.to;
    int32_t leaving = kNone;
    bool leaves_below_from = false;
    int64_t least = INT64_MAX;
    while (from != to) {
      if (nodes_[at(from)].depth >= nodes_[at(to)].depth) {
        if (points_up(from) && flow_above(from) < least) {
          // Of the `to` side an equal one is later on the way, and stays chosen.
          least = flow_above(from);
          leaving = from;
          leaves_below_from = true;
        }
        from = nodes_[at(from)].parent;
      } else {
        if (!points_up(to) && flow_above(to) <= least) {
          least = flow_above(to);
          leaving = to;
          leaves_below_from = false;
        }
        to = nodes_[at(to)].parent;
      }
    }
    CHECK(leaving != kNone, "a cycle of arcs with costs below zero");
    push(arc, least, from);
    move_subtree(entering, leaving, leaves_below_from);
  }

  [[nodiscard]] int64_t flow_above(int32_t node) const { return arcs_[at(nodes_[at(node)].arc)].flow; }

  void push(const NetworkArc& entering, int64_t amount, int32_t apex) {
    if (amount == 0) return;
    for (int32_t node = entering.from; node != apex; node = nodes_[at(node)].parent)
      arcs_[at(nodes_[at(node)].arc)].flow += points_up(node) ? -amount : amount;
    for (int32_t node = entering.to; node != apex; node = nodes_[at(node)].parent)
      arcs_[at(nodes_[at(node)].arc)].flow += points_up(node) ? amount : -amount;
    arcs_[static_cast<size_t>(&entering - arcs_.data())].flow += amount;
  }

  /// Cuts off the subtree below `leaving` and hangs it up again by the entering arc.
  void move_subtree(int32_t entering, int32_t leaving, bool holds_from) {
    const NetworkArc& arc = arcs_[at(entering)];
    const Potential cost = reduced_cost(arc);
    int32_t node = holds_from ? arc.from : arc.to;
    int32_t parent = holds_from ? arc.to : arc.from;
    const int32_t top = node;
    int32_t by = entering;
    while (true) {
      const int32_t old_parent = nodes_[at(node)].parent;
      const int32_t old_arc = nodes_[at(node)].arc;
      disown(node);
      nodes_[at(node)].arc = by;
      adopt(parent, node);
      if (node == leaving) break;
      parent = node;
      by = old_arc;
      node = old_parent;
    }
    shift_subtree(top, holds_from ? -cost : cost);
  }

  void adopt(int32_t parent, int32_t child) {
    Node& c = nodes_[at(child)];
    c.parent = parent;
    c.previous = kNone;
    c.next = nodes_[at(parent)].first_child;
    if (c.next != kNone) nodes_[at(c.next)].previous = child;
    nodes_[at(parent)].first_child = child;
  }

  void disown(int32_t child) {
    const Node& c = nodes_[at(child)];
    if (c.previous != kNone)
      nodes_[at(c.previous)].next = c.next;
    else
      nodes_[at(c.parent)].first_child = c.next;
    if (c.next != kNone) nodes_[at(c.next)].previous = c.previous;
  }

  /// Adds to the potential of every node of the subtree and sets their depths.
  void shift_subtree(int32_t top, Potential by) {
    order_.clear();
    order_.push_back(top);
    for (size_t i = 0; i < order_.size(); ++i) {
      Node& node = nodes_[at(order_[i])];
      price_[at(order_[i])] += by;
      node.depth = node.parent == kNone ? 0 : nodes_[at(node.parent)].depth + 1;
      for (int32_t child = node.first_child; child != kNone; child = nodes_[at(child)].next)
        order_.push_back(child);
    }
  }

  std::vector<NetworkArc>& arcs_;
  std::vector<Node> nodes_;
  std::vector<Potential> price_;
  std::vector<int32_t> order_;  // of the last subtree walked, parents first
  size_t next_ = 0;
  size_t block_ = 0;
};

}  // namespace

int64_t minimise_cost(std::vector<NetworkArc>& arcs, std::span<const int32_t> tree) { return Simplex(arcs, tree).run(); }

}  // namespace stint
