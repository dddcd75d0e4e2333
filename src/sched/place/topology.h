// Domains: groups of nodes that share labels. A topology is a list of node labels from widest to narrowest (zone, rack,
// host); a domain of a level is named by the values of all labels down to that level, so rack "r1" of zone "a" and rack
// "r1" of zone "b" are two. A node that lacks one of those labels is in no domain of that level.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sched/ids.h"
#include "sched/request.h"

namespace stint::sched {

/// Value of label `key`; nullptr when the node has none.
const std::string* find_label(std::span<const Label> labels, std::string_view key);

/// The domains of one level, numbered in the order in which their first nodes were added, as long as no node is removed.
class Domains {
 public:
  /// @param levels  node labels from widest to narrowest; one for a plain label.
  explicit Domains(std::vector<std::string> levels) : levels_(std::move(levels)) {}

  /// To be called once for each node in order of their ids, and for one in place of another that was removed.
  void add_node(NodeId node, std::span<const Label> labels);
  /// A domain that loses its last node is forgotten, and its number given to the next new one.
  void remove_node(NodeId node);

  [[nodiscard]] std::span<const std::string> levels() const { return levels_; }
  [[nodiscard]] size_t count() const { return members_.size(); }
  /// −1 when the node is in none.
  [[nodiscard]] int32_t of(NodeId node) const { return of_node_[node.index()]; }
  /// Ascending.
  [[nodiscard]] std::span<const NodeId> members(size_t domain) const { return members_[domain]; }

 private:
  friend struct SnapshotParts;
  std::vector<std::string> levels_;
  std::map<std::vector<std::string>, int32_t> by_path_;
  std::vector<std::vector<NodeId>> members_;
  std::vector<int32_t> of_node_;
  std::vector<int32_t> unused_;  // numbers of domains without nodes
};

}  // namespace stint::sched
