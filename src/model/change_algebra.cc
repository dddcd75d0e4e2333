#include "model/change_algebra.h"

#include <algorithm>
#include <array>

namespace stint {
namespace {

using Names = std::vector<std::string>;

bool is_among(const Names& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

/// The change is about to give the node back, make it another machine, or find it gone the second time.
bool alters_presence(const Change& c, const std::string& node) {
  if (const auto* share = std::get_if<ShareGpus>(&c)) return !is_among(share->keep, node);
  return std::holds_alternative<StopNodes>(c) || std::holds_alternative<ResizeNodes>(c) || std::holds_alternative<MoveOffGpu>(c);
}

enum class Access { kNone, kReads, kAdds, kWrites };

bool collide(Access a, Access b) {
  if (a == Access::kNone || b == Access::kNone) return false;
  return a == Access::kWrites || b == Access::kWrites || (a != b);
}

/// What a change does to each property of a node it names, presence aside.
struct Touch {
  Access purchase = Access::kNone, hours = Access::kNone, sharing = Access::kNone;
};

Touch touch_of(const Change& c) {
  if (std::holds_alternative<SwitchMarket>(c) || std::holds_alternative<MoveRegion>(c)) return {.purchase = Access::kWrites};
  if (std::holds_alternative<Commit>(c) || std::holds_alternative<SavingsPlan>(c)) return {.purchase = Access::kReads};
  if (std::holds_alternative<ScheduleOff>(c)) return {.hours = Access::kAdds};
  if (std::holds_alternative<ShareGpus>(c)) return {.sharing = Access::kWrites};
  return {};
}

/// A commitment that does not say where takes its place from the first machine it covers.
bool depends_on_all(const Change& c) {
  const auto* commit = std::get_if<Commit>(&c);
  return commit != nullptr && (commit->nodes.empty() || commit->provider.empty() || commit->region.empty());
}

/// Names the change brings into the fleet, if it may bring any.
bool brings_nodes(const Change& c) {
  const auto* resize = std::get_if<ResizeNodes>(&c);
  return resize != nullptr && resize->to_count > static_cast<int64_t>(resize->nodes.size());
}

bool alters_what_commitments_cover(const Change& c) {
  return touch_of(c).purchase == Access::kWrites ||
         std::ranges::any_of(nodes_of(c), [&](const std::string& n) { return alters_presence(c, n); });
}

/// "" when the two do not contradict each other on the node they share.
std::string conflict_on(const std::string& node, const Change& first, const Change& second) {
  const auto* market_1 = std::get_if<SwitchMarket>(&first);
  const auto* market_2 = std::get_if<SwitchMarket>(&second);
  if (market_1 != nullptr && market_2 != nullptr && market_1->to != market_2->to)
    return fmt::format("'{}' goes to {} and to {}", node, name_of(market_1->to), name_of(market_2->to));
  const auto* region_1 = std::get_if<MoveRegion>(&first);
  const auto* region_2 = std::get_if<MoveRegion>(&second);
  if (region_1 != nullptr && region_2 != nullptr && region_1->to_region != region_2->to_region)
    return fmt::format("'{}' moves to {} and to {}", node, region_1->to_region, region_2->to_region);
  const auto* share_1 = std::get_if<ShareGpus>(&first);
  const auto* share_2 = std::get_if<ShareGpus>(&second);
  if (share_1 != nullptr && share_2 != nullptr && !(*share_1 == *share_2))
    return fmt::format("the GPUs of '{}' are shared in two ways", node);
  const auto* resize = std::get_if<ResizeNodes>(&first);
  const bool given_back =
      std::holds_alternative<StopNodes>(first) || (share_1 != nullptr && !is_among(share_1->keep, node)) ||
      (resize != nullptr && std::ranges::find(resize->nodes, node) - resize->nodes.begin() >= resize->to_count);
  if (given_back) return fmt::format("'{}' is given back by the first ({})", node, kind_of(first));
  if (alters_presence(first, node) && alters_presence(second, node) && !std::holds_alternative<StopNodes>(second))
    return fmt::format("'{}' becomes another machine twice", node);
  // A commitment is paid whatever becomes of the machine.
  if (std::holds_alternative<Commit>(first) && (market_2 != nullptr || region_2 != nullptr || alters_presence(second, node)))
    return fmt::format("the first commits to '{}', the second ({}) leaves nothing for it to cover", node, kind_of(second));
  // A savings plan covers other types as well.
  if (std::holds_alternative<SavingsPlan>(first) && (market_2 != nullptr || std::holds_alternative<StopNodes>(second)))
    return fmt::format("the first is a savings plan for '{}', the second ({}) leaves nothing of it to cover", node,
                       kind_of(second));
  return "";
}

}  // namespace

bool commute(const Change& a, const Change& b) {
  if ((depends_on_all(a) && alters_what_commitments_cover(b)) || (depends_on_all(b) && alters_what_commitments_cover(a)))
    return false;
  // New nodes get names: two changes that make some could give one twice.
  if (brings_nodes(a) && brings_nodes(b)) return false;
  const Touch of_a = touch_of(a);
  const Touch of_b = touch_of(b);
  const bool properties_collide =
      collide(of_a.purchase, of_b.purchase) || collide(of_a.hours, of_b.hours) || collide(of_a.sharing, of_b.sharing);
  return std::ranges::none_of(nodes_of(a), [&](const std::string& node) {
    if (!is_among(nodes_of(b), node)) return false;
    return alters_presence(a, node) || alters_presence(b, node) || (properties_collide && !(a == b));
  });
}

std::vector<Contradiction> contradictions(std::span<const Change> changes) {
  std::vector<Contradiction> found;
  for (size_t first = 0; first < changes.size(); ++first)
    for (size_t second = first + 1; second < changes.size(); ++second)
      for (const std::string& node : nodes_of(changes[first])) {
        if (!is_among(nodes_of(changes[second]), node)) continue;
        std::string what = conflict_on(node, changes[first], changes[second]);
        if (what.empty()) continue;
        found.push_back({first, second, std::move(what)});
        break;
      }
  return found;
}

}  // namespace stint
