#include "ledger/line_match.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

bool compatible(std::string_view a, std::string_view b) { return a.empty() || b.empty() || a == b; }

uint64_t hash_of(std::string_view text) {
  Fnv1a hash;
  hash.update(text);
  return hash.digest();
}

}  // namespace

LineMatcher::LineMatcher(const History& history) : history_(history), tied_(history.nodes.size()) {
  for (uint32_t n = 0; n < history.nodes.size(); ++n) {
    const Node& node = history.nodes[n];
    for (const std::string* name : {&node.resource_id, &node.name})
      if (!name->empty()) names_.push_back({hash_of(*name), NodeId(n), *name});
    if (!node.instance_type.empty()) by_type_[node.instance_type].emplace_back(n);
  }
  std::stable_sort(names_.begin(), names_.end(), [](const Name& a, const Name& b) { return a.hash < b.hash; });
}

NodeId LineMatcher::node_called(std::string_view name) const {
  const uint64_t hash = hash_of(name);
  auto it = std::lower_bound(names_.begin(), names_.end(), hash, [](const Name& n, uint64_t h) { return n.hash < h; });
  NodeId found;
  for (; it != names_.end() && it->hash == hash; ++it) {
    if (it->text != name || it->node == found) continue;
    if (found.valid()) return {};
    found = it->node;
  }
  return found;
}

NodeId LineMatcher::by_resource(const BillLine& line) const {
  for (const std::string* text : {&line.resource_id, &line.resource_name}) {
    if (text->empty()) continue;
    const std::string_view whole = *text;
    if (const NodeId node = node_called(whole); node.valid()) return node;
    const size_t slash = whole.rfind('/');
    if (slash == std::string_view::npos) continue;
    if (const NodeId node = node_called(whole.substr(slash + 1)); node.valid()) return node;
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
