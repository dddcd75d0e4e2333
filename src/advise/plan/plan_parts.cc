#include "advise/plan/plan_parts.h"

#include <algorithm>
#include <map>

#include "advise/node_facts.h"

namespace stint {
namespace {

/// No machine is called so.
std::string pool_name(std::string_view provider, std::string_view region, std::string_view type) {
  return fmt::format("\n{}\n{}\n{}", provider, region, type);
}
bool is_pool(std::string_view name) { return name.starts_with('\n'); }

/// What the change touches: its machines, and the pools that they are in and would be in.
std::vector<std::string> touched(const Change& change, const std::map<std::string_view, const NodeFacts*>& facts) {
  std::vector<std::string> names = nodes_of(change);
  for (const std::string& name : nodes_of(change)) {
    const auto it = facts.find(name);
    if (it == facts.end()) continue;
    const NodeFacts& node = *it->second;
    names.push_back(pool_name(node.provider, node.region, node.instance_type));
    if (const auto* resize = std::get_if<ResizeNodes>(&change))
      names.push_back(
          pool_name(node.provider, resize->to_region.empty() ? node.region : resize->to_region, resize->to_instance_type));
    if (const auto* move = std::get_if<MoveRegion>(&change))
      names.push_back(pool_name(node.provider, move->to_region, node.instance_type));
    if (const auto* off_gpu = std::get_if<MoveOffGpu>(&change))
      names.push_back(pool_name(node.provider, node.region, off_gpu->to_instance_type));
  }
  if (const auto* commit = std::get_if<Commit>(&change))
    names.push_back(pool_name(commit->provider, commit->region, commit->instance_type));
  return names;
}

/// Machines and pools joined to sets.
class Joined {
 public:
  std::string root_of(const std::string& node) {
    const auto it = parent_.try_emplace(node, node).first;
    if (it->second == node) return node;
    it->second = root_of(it->second);
    return it->second;
  }
  void join(const std::string& a, const std::string& b) {
    const std::string root_a = root_of(a);
    const std::string root_b = root_of(b);
    if (root_a != root_b) parent_[std::max(root_a, root_b)] = std::min(root_a, root_b);
  }
  void join_all(const std::vector<std::string>& names) {
    for (const std::string& name : names)
      join(names.front(), name);
  }
  std::map<std::string, PlanPart> parts() {
    std::map<std::string, PlanPart> parts;
    for (const auto& [name, parent] : parent_)
      if (!is_pool(name)) parts[root_of(parent)].insert(name);
    return parts;
  }

 private:
  std::map<std::string, std::string> parent_;
};

/// In the one and, with the same saving, in the other.
bool is_among(const Finding& f, const std::vector<Finding>& findings) {
  const auto it = std::ranges::find(findings, f.id, &Finding::id);
  return it != findings.end() && it->saving_per_month == f.saving_per_month && it->change == f.change;
}

}  // namespace

bool is_of_part(const Finding& finding, const PlanPart& part) {
  const auto& nodes = nodes_of(finding.change);
  return !nodes.empty() && part.contains(nodes.front());
}

std::vector<PlanPart> plan_parts(const FleetFacts& facts, const std::vector<Finding>& all,
                                 const std::function<std::vector<Finding>(const std::string&)>& without) {
  std::map<std::string_view, const NodeFacts*> by_name;
  for (const NodeFacts& node : facts.nodes)
    by_name[node.name] = &node;
  Joined joined;
  for (const Finding& f : all)
    joined.join_all(touched(f.change, by_name));
  for (const Finding& out : all) {
    if (nodes_of(out.change).empty()) continue;
    const std::string& one = nodes_of(out.change).front();
    const std::vector<Finding> rest = without(out.id);
    for (const Finding& f : rest) {
      joined.join_all(touched(f.change, by_name));
      if (!nodes_of(f.change).empty() && !is_among(f, all)) joined.join(one, nodes_of(f.change).front());
    }
    for (const Finding& f : all)
      if (f.id != out.id && !nodes_of(f.change).empty() && !is_among(f, rest)) joined.join(one, nodes_of(f.change).front());
  }
  std::vector<PlanPart> parts;
  for (auto& [root, part] : joined.parts())
    parts.push_back(std::move(part));
  return parts;
}

}  // namespace stint
