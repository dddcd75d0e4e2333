#include "sched/topology.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sched {

const std::string* find_label(std::span<const Label> labels, std::string_view key) {
  const auto it = std::find_if(labels.begin(), labels.end(), [&](const Label& l) { return l.key == key; });
  return it == labels.end() ? nullptr : &it->value;
}

void Domains::add_node(NodeId node, std::span<const Label> labels) {
  CHECK(node.index() == of_node_.size(), "node {} added to domains of {} nodes", node.index(), of_node_.size());
  of_node_.push_back(-1);
  std::vector<std::string> path;
  for (const std::string& level : levels_) {
    const std::string* value = find_label(labels, level);
    if (value == nullptr) return;
    path.push_back(*value);
  }
  const auto known = by_path_.find(path);
  const auto domain = static_cast<int32_t>(known == by_path_.end() ? members_.size() : static_cast<size_t>(known->second));
  if (known == by_path_.end()) {
    by_path_.emplace(std::move(path), domain);
    members_.emplace_back();
  }
  of_node_.back() = domain;
  members_[static_cast<size_t>(domain)].push_back(node);
}

}  // namespace stint::sched
