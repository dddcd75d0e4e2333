#include "sched/place/topology.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace stint::sched {

const std::string* find_label(std::span<const Label> labels, std::string_view key) {
  const auto it = std::find_if(labels.begin(), labels.end(), [&](const Label& l) { return l.key == key; });
  return it == labels.end() ? nullptr : &it->value;
}

void Domains::add_node(NodeId node, std::span<const Label> labels) {
  CHECK(node.index() <= of_node_.size(), "node {} added to domains of {} nodes", node.index(), of_node_.size());
  if (node.index() == of_node_.size()) of_node_.push_back(-1);
  CHECK(of_node_[node.index()] < 0, "node {} added to domains twice", node.index());
  std::vector<std::string> path;
  for (const std::string& level : levels_) {
    const std::string* value = find_label(labels, level);
    if (value == nullptr) return;
    path.push_back(*value);
  }
  const auto known = by_path_.find(path);
  int32_t domain = 0;
  if (known != by_path_.end()) {
    domain = known->second;
  } else if (!unused_.empty()) {
    domain = unused_.back();
    unused_.pop_back();
  } else {
    domain = static_cast<int32_t>(members_.size());
    members_.emplace_back();
  }
  if (known == by_path_.end()) by_path_.emplace(std::move(path), domain);
  of_node_[node.index()] = domain;
  std::vector<NodeId>& members = members_[static_cast<size_t>(domain)];
  members.insert(std::ranges::lower_bound(members, node), node);
}

void Domains::remove_node(NodeId node) {
  const int32_t domain = std::exchange(of_node_[node.index()], -1);
  if (domain < 0) return;
  std::vector<NodeId>& members = members_[static_cast<size_t>(domain)];
  members.erase(std::ranges::lower_bound(members, node));
  if (!members.empty()) return;
  std::erase_if(by_path_, [&](const auto& entry) { return entry.second == domain; });
  unused_.push_back(domain);
}

}  // namespace stint::sched
