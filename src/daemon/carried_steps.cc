#include "daemon/carried_steps.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace stint {
namespace {

bool wants_at_rest(const CarriedChange& change, const std::string& machine) {
  return !change.undone_at && change.rests && std::ranges::find(change.machines, machine) != change.machines.end();
}

bool all_known(const CarriedChange& change, const std::vector<NodeView>& nodes) {
  return std::ranges::all_of(change.machines, [&](const std::string& machine) {
    return std::ranges::find(nodes, machine, &NodeView::name) != nodes.end();
  });
}

}  // namespace

bool rests_at(const CarriedChange& change, Instant at) {
  return change.off.none() || change.off.test(static_cast<size_t>(weekday(at) * 24 + to_civil(at).hour));
}

Result<std::vector<std::string>> that_take_work(const std::vector<std::string>& machines, const std::vector<NodeView>& nodes) {
  std::vector<std::string> out;
  for (const std::string& machine : machines) {
    const auto node = std::ranges::find(nodes, machine, &NodeView::name);
    if (node == nodes.end()) return make_error(ErrorCode::kNotFound, "no machine {}", excerpt(machine));
    if (node->state == NodeState::kUp) out.push_back(machine);
  }
  return out;
}

std::vector<std::string> to_put_up(const CarriedChanges& all, const std::string& id) {
  std::vector<std::string> up;
  for (const std::string& machine : all.at(id).drained)
    if (std::ranges::none_of(all, [&](const auto& other) { return other.first != id && wants_at_rest(other.second, machine); }))
      up.push_back(machine);
  return up;
}

CarriedChanges taking_over(const CarriedChanges& all, const std::string& id) {
  CarriedChanges out;
  for (const std::string& machine : all.at(id).drained) {
    const auto other =
        std::ranges::find_if(all, [&](const auto& o) { return o.first != id && wants_at_rest(o.second, machine); });
    if (other == all.end()) continue;
    CarriedChange& change = out.try_emplace(other->first, other->second).first->second;
    const auto place = std::ranges::lower_bound(change.drained, machine);
    if (place == change.drained.end() || *place != machine) change.drained.insert(place, machine);
  }
  return out;
}

std::vector<CarriedStep> carried_steps(const CarriedChanges& all, const std::vector<NodeView>& nodes, Instant now) {
  std::vector<CarriedStep> steps;
  CarriedChanges as_intended = all;  // steps of one instant see each other's intents
  for (const auto& [id, before] : all) {
    CarriedChange& intent = as_intended.at(id);
    if (before.undone_at || (intent.is_done && intent.rests == rests_at(before, now)) || !all_known(before, nodes)) continue;
    CarriedStep step{.id = id, .before = intent, .intent = {}, .done = {}, .others = {}, .drain = {}, .up = {}};
    if (intent.rests != rests_at(before, now)) {
      intent.rests = !intent.rests;
      intent.is_done = false;
      if (intent.rests) intent.drained = that_take_work(intent.machines, nodes).value();
    }
    if (intent.rests) {
      step.drain = that_take_work(intent.drained, nodes).value();
    } else {
      step.up = to_put_up(as_intended, id);
      step.others = taking_over(as_intended, id);
      for (const auto& [other, change] : step.others)
        as_intended.at(other) = change;
    }
    step.intent = step.done = intent;
    step.done.is_done = true;
    if (!intent.rests) step.done.drained.clear();
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace stint
