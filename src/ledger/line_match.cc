#include "ledger/line_match.h"

namespace stint {
namespace {

bool compatible(std::string_view a, std::string_view b) { return a.empty() || b.empty() || a == b; }

}  // namespace

LineMatcher::LineMatcher(const History& history) : history_(history), tied_(history.nodes.size()) {
  for (uint32_t n = 0; n < history.nodes.size(); ++n) {
    const Node& node = history.nodes[n];
    for (const std::string* name : {&node.resource_id, &node.name}) {
      if (name->empty()) continue;
      const auto [it, fresh] = by_name_.try_emplace(*name, n);
      if (!fresh && it->second != NodeId(n)) it->second = NodeId();
    }
    if (!node.instance_type.empty()) by_type_[node.instance_type].emplace_back(n);
  }
}

NodeId LineMatcher::by_resource(const BillLine& line) const {
  for (const std::string* text : {&line.resource_id, &line.resource_name}) {
    if (text->empty()) continue;
    const std::string_view whole = *text;
    if (const auto it = by_name_.find(whole); it != by_name_.end()) return it->second;
    const size_t slash = whole.rfind('/');
    if (slash == std::string_view::npos) continue;
    if (const auto it = by_name_.find(whole.substr(slash + 1)); it != by_name_.end()) return it->second;
  }
  return {};
}

void LineMatcher::saw_untied(const BillLine& line) {
  const auto [it, fresh] = groups_.try_emplace(group_of(line), Group{line.resource_id, false});
  if (!fresh && it->second.resource != line.resource_id) it->second.several = true;
}

NodeId LineMatcher::by_type(const BillLine& line) const {
  const auto nodes = by_type_.find(line.instance_type);
  const auto group = groups_.find(group_of(line));
  if (line.instance_type.empty() || nodes == by_type_.end() || group == groups_.end() || group->second.several) return {};
  NodeId only;
  for (const NodeId id : nodes->second) {
    const Node& node = history_.nodes[id.index()];
    if (tied_[id.index()] || !compatible(node.region, line.region) || !compatible(node.provider, line.provider)) continue;
    if (only.valid()) return {};
    only = id;
  }
  return only;
}

}  // namespace stint
