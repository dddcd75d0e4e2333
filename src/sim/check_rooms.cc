#include "sim/check_rooms.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "model/interference.h"

namespace stint::sim {
namespace {

int32_t milli_of(const sched::Request& request, const NodeSpec& node) {
  if (request.milli > 0) return request.milli;
  const int64_t whole = node.gpu_memory.count();
  if (request.gpu_memory.count() == 0) return 0;
  if (whole == 0) return sched::kMilli + 1;  // fits nowhere
  return static_cast<int32_t>((request.gpu_memory.count() * sched::kMilli + whole - 1) / whole);
}

const std::string* value_of(const NodeSpec& node, std::string_view label) {
  const auto at = std::ranges::find(node.labels, label, &Label::key);
  if (at != node.labels.end()) return &at->value;
  return label == "node" ? &node.name : nullptr;
}

bool carries_all(const sched::Request& request, const std::vector<Label>& labels) {
  return std::ranges::all_of(labels,
                             [&](const Label& l) { return std::ranges::find(request.labels, l) != request.labels.end(); });
}

}  // namespace

bool node_matches(const sched::Request& request, const NodeSpec& node) {
  const auto& models = request.gpu_models;
  if (!models.empty() && std::ranges::find(models, node.gpu_model) == models.end()) return false;
  const auto& allowed = request.allowed_nodes;
  if (request.only_allowed_nodes && std::ranges::find(allowed, node.name) == allowed.end()) return false;
  return std::ranges::all_of(request.node_labels, [&](const Label& wanted) {
    const auto at = std::ranges::find(node.labels, wanted.key, &Label::key);
    if (at != node.labels.end()) return at->value == wanted.value;
    return wanted.key == "node" && wanted.value == node.name;
  });
}

CheckedRooms::CheckedRooms(const Workload& workload) : workload_(&workload) {
  for (const SimNode& node : workload.nodes)
    nodes_.push_back(empty_room(node.node));
  for (const sched::Request& request : workload.requests)
    neighbours_matter_ = neighbours_matter_ || !request.affinity.empty() || !request.anti_affinity.empty();
}

CheckedRooms::Room CheckedRooms::empty_room(const NodeSpec& node) {
  Room room;
  room.cpu_milli = node.cpu_milli;
  room.memory_bytes = node.memory.count();
  room.tasks = node.max_tasks;
  for (int g = 0; g < node.gpus; ++g)
    room.gpu_milli[static_cast<size_t>(g)] = sched::kMilli;
  for (const MigAsk& instances : node.static_mig)
    room.stock.push_back(instances.count);
  return room;
}

bool CheckedRooms::same_domain(NodeId a, NodeId b, std::string_view label) const {
  const std::string* x = value_of(workload_->nodes[a.index()].node, label);
  const std::string* y = value_of(workload_->nodes[b.index()].node, label);
  return x != nullptr && y != nullptr && *x == *y;
}

bool CheckedRooms::any_in_domain(NodeId node, const sched::AffinityTerm& term) const {
  for (uint32_t n = 0; n < nodes_.size(); ++n)
    if (same_domain(node, NodeId(n), term.topology_key) &&
        std::ranges::any_of(nodes_[n].there, [&](const sched::Request* other) { return carries_all(*other, term.labels); }))
      return true;
  return false;
}

std::string CheckedRooms::wrong_neighbours(NodeId node, const sched::Request& request) const {
  if (!neighbours_matter_ || !node.valid() || node.index() >= nodes_.size()) return {};
  for (const sched::AffinityTerm& term : request.anti_affinity)
    if (any_in_domain(node, term)) return fmt::format("a neighbour it refuses is in the same '{}'", term.topology_key);
  bool refused = false;
  for (uint32_t n = 0; n < nodes_.size(); ++n)
    for (const sched::Request* other : nodes_[n].there)
      for (const sched::AffinityTerm& term : other->anti_affinity)
        refused = refused || (carries_all(request, term.labels) && same_domain(node, NodeId(n), term.topology_key));
  if (refused) return "one that is there refuses it";
  for (const sched::AffinityTerm& term : request.affinity) {
    if (any_in_domain(node, term)) continue;
    const bool first_of_its_kind =
        carries_all(request, term.labels) && value_of(workload_->nodes[node.index()].node, term.topology_key) != nullptr &&
        std::ranges::none_of(nodes_, [&](const Room& room) {
          return std::ranges::any_of(room.there, [&](const sched::Request* other) { return carries_all(*other, term.labels); });
        });
    if (!first_of_its_kind) return fmt::format("no neighbour it wants is in the same '{}'", term.topology_key);
  }
  return {};
}

void CheckedRooms::set_up(NodeId node, bool up) {
  nodes_[node.index()].up = up;
  if (up) nodes_[node.index()].open = true;
}

void CheckedRooms::close(NodeId node) { nodes_[node.index()].open = false; }

std::string CheckedRooms::take(const sched::Place& place, const sched::Request& request) {
  if (!place.node.valid() || place.node.index() >= nodes_.size()) return "a place on no node";
  const NodeSpec& node = workload_->nodes[place.node.index()].node;
  Room& room = nodes_[place.node.index()];
  if (!room.up) return fmt::format("node '{}' is down", node.name);
  if (!room.open) return fmt::format("node '{}' is draining or announced to be lost", node.name);
  if (!node_matches(request, node)) return fmt::format("node '{}' is not what the request wants", node.name);
  room.cpu_milli -= request.cpu_milli;
  room.memory_bytes -= request.memory.count();
  room.tasks -= 1;
  if (room.cpu_milli < 0) return fmt::format("{} milli-CPU too few on node '{}'", -room.cpu_milli, node.name);
  if (room.memory_bytes < 0) return fmt::format("{} bytes of memory too few on node '{}'", -room.memory_bytes, node.name);
  if (room.tasks < 0) return fmt::format("node '{}' takes {} tasks only", node.name, node.max_tasks);
  if (neighbours_matter_) room.there.push_back(&request);
  return take_gpus(room, node, place, request);
}

std::string CheckedRooms::take_gpus(Room& room, const NodeSpec& node, const sched::Place& place, const sched::Request& request) {
  if (place.gpus >> node.gpus != 0) return fmt::format("node '{}' has {} GPUs; mask {:x}", node.name, node.gpus, place.gpus);
  const int32_t milli = milli_of(request, node);
  const int count = std::popcount(place.gpus);
  if (!request.mig.empty()) return take_instances(room, node, place, request);
  if (milli == sched::kMilli && (count != 1 || place.milli != 0))
    return fmt::format("asked for the memory of one GPU, given {} ({} milli)", count, place.milli);
  if (milli > 0 && milli != sched::kMilli && (count != 1 || place.milli != milli))
    return fmt::format("asked for {} milli of one GPU, given {} of {}", milli, place.milli, count);
  if (milli == 0 && (count != request.gpus || place.milli != 0))
    return fmt::format("asked for {} GPUs, given {} ({} milli)", request.gpus, count, place.milli);
  if (count > 0 && !node.whole_gpus) return fmt::format("node '{}' gives out MIG instances only", node.name);
  if (milli > 0 && milli != sched::kMilli && !node.shared_gpus)
    return fmt::format("node '{}' gives out no shares of its GPUs", node.name);
  for (int g = 0; g < node.gpus; ++g) {
    if ((place.gpus >> g & 1) == 0) continue;
    int32_t& free = room.gpu_milli[static_cast<size_t>(g)];
    free -= milli > 0 ? milli : sched::kMilli;
    if (free < 0) return fmt::format("GPU {} of node '{}' is booked twice: {} milli too many", g, node.name, -free);
    if (place.milli == 0) continue;
    for (const auto& [gpu, sharer] : room.parts)
      if (gpu == g && sharer->shares_with != request.shares_with)
        return fmt::format("GPU {} of node '{}' is shared by '{}' and '{}'", g, node.name, sharer->shares_with,
                           request.shares_with);
    room.parts.emplace_back(g, &request);
    if (const std::string whom = slowed(room, g); !whom.empty())
      return fmt::format("GPU {} of node '{}': {}", g, node.name, whom);
  }
  return {};
}

/// @return empty, or whose bound the others on the GPU break.
std::string CheckedRooms::slowed(const Room& room, int gpu) {
  for (size_t i = 0; i < room.parts.size(); ++i) {
    const sched::Request& one = *room.parts[i].second;
    if (room.parts[i].first != gpu || one.max_slowdown_percent < 0) continue;
    int64_t percent = 0;
    for (size_t k = 0; k < room.parts.size(); ++k) {
      if (k == i || room.parts[k].first != gpu) continue;
      const std::string& kind = room.parts[k].second->work_kind;
      const auto known = std::ranges::find(one.slowdowns, kind, &sched::Slowdown::beside);
      percent += kind.empty() || known == one.slowdowns.end() ? kMostSlowedPercent : known->percent;
    }
    if (percent > one.max_slowdown_percent)
      return fmt::format("work '{}' bears {} % and is slowed by {} %", one.work_kind, one.max_slowdown_percent, percent);
  }
  return {};
}

std::string CheckedRooms::take_instances(Room& room, const NodeSpec& node, const sched::Place& place,
                                         const sched::Request& request) {
  if (place.mig_profile < 0) {  // of those that exist and stay as they are: they have no whole GPU
    for (const MigAsk& ask : request.mig) {
      const auto at = std::ranges::find(node.static_mig, ask.profile, &MigAsk::profile);
      if (at == node.static_mig.end()) return fmt::format("node '{}' has no instances {}", node.name, ask.profile);
      int32_t& left = room.stock[static_cast<size_t>(at - node.static_mig.begin())];
      left -= ask.count;
      if (left < 0) return fmt::format("node '{}' has {} instances {}, {} too few", node.name, at->count, ask.profile, -left);
    }
    return {};
  }
  const MigGeometry* geometry = find_mig_geometry(node.gpu_model);
  if (geometry == nullptr || !node.repartition) return fmt::format("the GPUs of node '{}' cannot be cut", node.name);
  if (std::popcount(place.gpus) != 1) return fmt::format("a MIG instance on more or less than one GPU of node '{}'", node.name);
  const auto profile = static_cast<size_t>(place.mig_profile);
  if (request.mig.size() != 1 || request.mig[0].count != 1 || profile >= geometry->profiles.size() ||
      geometry->profiles[profile].name != request.mig[0].profile)
    return fmt::format("an instance on node '{}' that is not what was asked for", node.name);
  const auto g = static_cast<size_t>(std::countr_zero(place.gpus));
  if (room.instances[g].empty() && room.gpu_milli[g] != sched::kMilli)
    return fmt::format("GPU {} of node '{}' is cut into instances while it is held", g, node.name);
  room.gpu_milli[g] = 0;
  room.instances[g].push_back({place.mig_start, place.mig_profile});
  const Status legal = check_layout(*geometry, room.instances[g]);
  return legal.ok() ? std::string() : fmt::format("GPU {} of node '{}': {}", g, node.name, legal.error().message);
}

void CheckedRooms::give_back(const sched::Place& place, const sched::Request& request) {
  Room& room = nodes_[place.node.index()];
  if (const auto at = std::ranges::find(room.there, &request); at != room.there.end()) room.there.erase(at);
  if (!request.mig.empty() && place.mig_profile < 0) {
    const auto& kinds = workload_->nodes[place.node.index()].node.static_mig;
    for (const MigAsk& ask : request.mig)
      if (const auto at = std::ranges::find(kinds, ask.profile, &MigAsk::profile); at != kinds.end())
        room.stock[static_cast<size_t>(at - kinds.begin())] += ask.count;
  }
  room.cpu_milli += request.cpu_milli;
  room.memory_bytes += request.memory.count();
  room.tasks += 1;
  for (size_t g = 0; g < room.gpu_milli.size(); ++g) {
    if ((place.gpus >> g & 1) == 0) continue;
    if (place.mig_profile >= 0) {
      const auto at = std::ranges::find(room.instances[g], MigPlacement{place.mig_start, place.mig_profile});
      if (at != room.instances[g].end()) room.instances[g].erase(at);
      if (room.instances[g].empty()) room.gpu_milli[g] = sched::kMilli;
    } else {
      room.gpu_milli[g] += place.milli > 0 ? place.milli : sched::kMilli;
      const auto part = std::ranges::find(room.parts, std::pair(static_cast<int>(g), &request));
      if (place.milli > 0 && part != room.parts.end()) room.parts.erase(part);
    }
  }
}

int64_t CheckedRooms::fitting(const sched::Request& request, const NodeSpec& node, const Room& room) const {
  int64_t fit = room.tasks;
  if (request.cpu_milli > 0) fit = std::min(fit, room.cpu_milli / request.cpu_milli);
  if (request.memory.count() > 0) fit = std::min(fit, room.memory_bytes / request.memory.count());
  const int32_t milli = milli_of(request, node);
  if (request.gpus == 0 && milli == 0) return fit;
  if (!node.whole_gpus) return 0;
  int64_t whole = 0, shares = 0;
  for (const int32_t free : room.gpu_milli) {
    whole += free == sched::kMilli ? 1 : 0;
    if (milli > 0) shares += free / milli;
  }
  return std::min(fit, milli > 0 ? shares : whole / request.gpus);
}

int64_t CheckedRooms::capacity_for(const sched::Request& request, int64_t enough) const {
  if (!request.mig.empty() || !request.affinity.empty() || !request.anti_affinity.empty() || request.max_slowdown_percent >= 0)
    return -1;
  int64_t sum = 0;
  for (size_t n = 0; n < nodes_.size() && sum < enough; ++n) {
    const NodeSpec& node = workload_->nodes[n].node;
    if (nodes_[n].up && nodes_[n].open && node_matches(request, node)) sum += fitting(request, node, empty_room(node));
  }
  return std::min(sum, enough);
}

}  // namespace stint::sim
