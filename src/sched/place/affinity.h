// Affinity: tasks that want to be, or must not be, in one domain of a node label with tasks carrying certain labels.
//
// Terms are interned; for each term and domain two numbers are kept: tasks whose labels match it, and tasks that carry it
// as anti-affinity. The second makes anti-affinity mutual: who refuses certain neighbours is not joined by them later.
// Both numbers are kept for each Room, so that a trial sees the cluster with leaving tasks gone.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/ids.h"
#include "sched/place/topology.h"
#include "sched/request.h"
#include "sched/room.h"

namespace stint::sched {

/// What of a request concerns affinity: indexes of terms.
struct AffinityFacts {
  std::vector<int32_t> matches;  ///< terms its labels satisfy
  std::vector<int32_t> wants;
  std::vector<int32_t> refuses;
  [[nodiscard]] bool empty() const { return matches.empty() && wants.empty() && refuses.empty(); }
};

class AffinityBook {
 public:
  /// Interns a term. Domains of nodes already known are taken from `node_labels` (one entry per node).
  int32_t intern(const AffinityTerm& term, std::span<const std::vector<Label>> node_labels);
  void add_node(NodeId node, std::span<const Label> labels);
  void remove_node(NodeId node);  ///< one without tasks
  [[nodiscard]] AffinityFacts facts_of(const Request& request, std::span<const std::vector<Label>> node_labels);
  /// Terms interned so far; requests interned earlier may match later ones, see Cluster::intern.
  [[nodiscard]] size_t term_count() const { return terms_.size(); }
  [[nodiscard]] bool matches(int32_t term, const Request& request) const;

  /// A task with these facts is at `node` in `room` (+1), or no longer (−1).
  void count(const AffinityFacts& facts, NodeId node, Room room, int32_t change);
  /// Counts one term only: for tasks that were there before the term was.
  void count_match(int32_t term, NodeId node, Room room, int32_t change);

  /// Wanted neighbours are there (kFree: now; kComing: then) and refused ones are not (kFree: neither now nor then).
  /// A task that wants what it is itself, and is the first of its kind, may go to any node that has the label.
  [[nodiscard]] bool admits(const AffinityFacts& facts, NodeId node, Room room) const;

  /// The same for a task that is promised room there, and so counts in kComing already: as it is now.
  [[nodiscard]] bool admits_promised(const AffinityFacts& facts, NodeId node) const;

  bool operator==(const AffinityBook&) const = default;

 private:
  friend struct SnapshotParts;
  struct Counts {
    std::vector<int32_t> matching;  // per domain
    std::vector<int32_t> refusing;
    int32_t matching_total = 0;
    bool operator==(const Counts&) const = default;
  };
  struct Term {
    AffinityTerm term;
    Domains domains;
    std::array<Counts, 2> in_room;  // by Room
    bool operator==(const Term& o) const { return term == o.term && in_room == o.in_room; }
  };
  std::vector<Term> terms_;
};

}  // namespace stint::sched
