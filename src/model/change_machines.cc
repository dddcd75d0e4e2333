#include "model/change_machines.h"

namespace stint {

std::vector<std::string> given_up(const Change& change, const FleetPlan& fleet) {
  if (const auto* stop = std::get_if<StopNodes>(&change)) return stop->nodes;
  const auto* resize = std::get_if<ResizeNodes>(&change);
  if (resize == nullptr || resize->to_count < 0 || resize->to_count >= std::ssize(resize->nodes)) return {};
  for (const std::string& name : resize->nodes) {
    const PlannedNode* node = fleet.find(name);
    const bool stays = node != nullptr && node->instance_type == resize->to_instance_type &&
                       (resize->to_region.empty() || resize->to_region == node->region);
    if (!stays) return {};  // others have to be there first
  }
  return {resize->nodes.begin() + resize->to_count, resize->nodes.end()};
}

std::vector<std::pair<size_t, size_t>> spans_of(const WeekHours& off) {
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t h = 0; h < 168; ++h) {
    if (!off[h] || off[(h + 167) % 168]) continue;
    size_t end = h;
    while (off[end % 168] && end < h + 168)
      ++end;
    out.emplace_back(h, end % 168);
  }
  return out;
}

}  // namespace stint
