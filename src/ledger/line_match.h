// Which node a bill line is about.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "model/history.h"

namespace stint {

class LineMatcher {
 public:
  /// @param history  must outlive this.
  explicit LineMatcher(const History& history);

  /// By resource id, then resource name, against the nodes' resource ids and names; the last part of a path
  /// (ARN, Azure resource id, GCP self link) counts as the id. @return invalid when none or several fit.
  [[nodiscard]] NodeId by_resource(const BillLine& line) const;

  /// Tells the matcher of every line that by_resource() tied, and of every compute line that it did not.
  void saw_tied(NodeId node) { tied_[node.index()] = true; }
  void saw_untied(const BillLine& line);
  /// By instance type, region and provider: when one node that no line is tied to fits, and all lines of that
  /// type and place speak of one resource. Call after all lines were seen. @return invalid otherwise.
  [[nodiscard]] NodeId by_type(const BillLine& line) const;

 private:
  /// A bill has a line per node and hour: names are found by their hash.
  struct Name {
    uint64_t hash = 0;
    NodeId node;
    std::string_view text;
  };
  /// @return invalid when no node or more than one is called so.
  [[nodiscard]] NodeId node_called(std::string_view name) const;

  struct Group {
    std::string_view resource;  ///< of the first line
    bool several = false;       ///< lines of other resources, too
  };
  using GroupKey = std::tuple<std::string_view, std::string_view, std::string_view>;
  static GroupKey group_of(const BillLine& line) { return {line.instance_type, line.region, line.provider}; }

  const History& history_;
  std::vector<Name> names_;  // ascending by hash
  std::map<std::string_view, std::vector<NodeId>> by_type_;
  std::map<GroupKey, Group> groups_;
  std::vector<bool> tied_;
};

}  // namespace stint
