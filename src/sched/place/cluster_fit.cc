// Cluster: what fits where. could_ever_fit is asked once per request and node, check with every candidate.
#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/has_element.h"
#include "sched/place/cluster.h"

namespace stint::sched {
namespace {

/// GPUs of which nothing is held.
uint64_t whole_gpus(const NodeRecord& node) {
  uint64_t mask = 0;
  for (int g = 0; g < node.gpus; ++g)
    if (node.gpu_free[static_cast<size_t>(g)] == kMilli) mask |= uint64_t{1} << g;
  return mask;
}

}  // namespace

void Cluster::note_eligible(RequestId r, NodeId n) {
  Facts& facts = facts_[r.index()];
  facts.eligible.resize((nodes_.size() + 63) / 64);
  if (could_ever_fit(facts, requests_[r.index()], n)) facts.eligible[n.index() / 64] |= uint64_t{1} << (n.index() % 64);
}

bool Cluster::could_ever_fit(const Facts& facts, const Request& request, NodeId n) const {
  const NodeSpec& node = nodes_[n.index()];
  const std::vector<Label>& labels = labels_[n.index()];
  if (request.only_allowed_nodes && !has_element(request.allowed_nodes, node.name)) return false;
  if (!request.gpu_models.empty() && !has_element(request.gpu_models, node.gpu_model)) return false;
  for (const Label& wanted : request.node_labels)
    if (!has_element(labels, wanted)) return false;
  const int32_t gpus = node.whole_gpus ? node.gpus : 0;
  const bool shares = facts.milli > 0 || facts.gpu_memory > 0;
  if (facts.gpus > gpus || (shares && (gpus == 0 || !node.shared_gpus))) return false;
  if (facts.gpu_memory > 0 && facts.gpu_memory > node.gpu_memory.count()) return false;
  if (facts.cpu_milli > node.cpu_milli || facts.memory_bytes > node.memory.count() || node.max_tasks < 1) return false;
  if (facts.mig.empty()) return true;
  if (mig_[n.index()].geometry != nullptr) return dynamic_profile(facts, n) >= 0 && node.gpus > 0;
  return std::all_of(facts.mig.begin(), facts.mig.end(), [&](const MigWant& want) {
    const std::vector<MigStock>& stock = mig_[n.index()].stock;
    return std::any_of(stock.begin(), stock.end(),
                       [&](const MigStock& s) { return s.profile == want.profile && s.total >= want.count; });
  });
}

/// Index into the node's geometry of the one instance wanted; −1 = not one instance, or not of this GPU.
int Cluster::dynamic_profile(const Facts& facts, NodeId n) const {
  const MigGeometry* geometry = mig_[n.index()].geometry;
  if (geometry == nullptr || facts.instance_of.empty()) return -1;
  return facts.instance_of[static_cast<size_t>(geometry - mig_geometries().data())];
}

int32_t Cluster::share_on(const Facts& facts, NodeId n) const {
  const NodeSpec& node = nodes_[n.index()];
  int64_t share = facts.milli;
  if (facts.gpu_memory > 0) share = (facts.gpu_memory * kMilli + node.gpu_memory.count() - 1) / node.gpu_memory.count();
  if (node.gpu_parts > 0) share = (share * node.gpu_parts + kMilli - 1) / kMilli * kMilli / node.gpu_parts;
  return static_cast<int32_t>(share);
}

/// A bit for each GPU of the node of which somebody it does not share with holds a part. Who holds a place in either room counts:
/// what leaves is still there, what is promised will be. Nothing is looked at while all share with all.
uint64_t Cluster::others_shares(const Facts& facts, NodeId n, Room room) const {
  uint64_t theirs = 0;
  if (facts.sharer < 0 || sharers_.size() < 2) return theirs;
  for_each_on(n, [&](TaskId t) {
    const Task& task = tasks_[t.index()];
    if (task.place.milli == 0 || facts_[task.request.index()].sharer == facts.sharer) return;
    if (task.holds(Room::kComing) || task.holds(room)) theirs |= task.place.gpus;
  });
  return theirs;
}

/// Likewise for each GPU where it, or one that holds a part, would be slowed by more than it bears.
uint64_t Cluster::slowed_gpus(const Facts& facts, NodeId n, Room room) const {
  uint64_t slowed = 0;
  if (facts.sharer < 0 || !interference_.any_bounds()) return slowed;
  uint64_t seen = 0;
  for_each_on(n, [&](TaskId t) {
    const Task& task = tasks_[t.index()];
    if (task.place.milli == 0 || (seen & task.place.gpus) != 0 || !(task.holds(Room::kComing) || task.holds(room))) return;
    seen |= task.place.gpus;
    if (is_slowed(facts, n, task.place.gpus, room)) slowed |= task.place.gpus;
  });
  return slowed;
}

namespace {

/// Would it, or one of those there, take longer than it bears? Each neighbour adds what it was measured to add alone.
/// @param each_there  calls its argument for each task there, with what is known of it
template <typename EachThere>
bool breaks_a_bound(const InterferenceFacts& facts, EachThere&& each_there) {
  int64_t own = 0;
  bool slowed = false;
  each_there([&](TaskId t, const InterferenceFacts& there) {
    own += facts.percent_beside(there.work);
    if (there.most < 0) return;
    int64_t theirs = there.percent_beside(facts.work);
    each_there([&](TaskId other, const InterferenceFacts& beside) {
      if (other != t) theirs += there.percent_beside(beside.work);
    });
    slowed |= theirs > there.most;
  });
  return slowed || (facts.most >= 0 && own > facts.most);
}

}  // namespace

/// @param gpu  one bit
bool Cluster::is_slowed(const Facts& facts, NodeId n, uint64_t gpu, Room room) const {
  return breaks_a_bound(facts.interference, [&](auto&& visit) {
    for_each_on(n, [&](TaskId t) {
      const Task& task = tasks_[t.index()];
      if (task.place.milli > 0 && task.place.gpus == gpu && (task.holds(Room::kComing) || task.holds(room)))
        visit(t, facts_[task.request.index()].interference);
    });
  });
}

Misfit Cluster::check(const Facts& facts, NodeId n, Room room, SharedGpu shared, Place& place) const {
  const NodeRecord& then = coming_[n];
  const NodeRecord& now = room == Room::kFree ? free_[n] : then;
  if (!then.usable) return Misfit::kUnusable;
  if ((facts.eligible[n.index() / 64] >> (n.index() % 64) & 1) == 0) return Misfit::kConstraint;
  if (now.tasks_free < 1 || then.tasks_free < 1) return Misfit::kTasks;
  if (facts.cpu_milli > now.cpu_free || facts.cpu_milli > then.cpu_free) return Misfit::kCpu;
  if (facts.memory_bytes > now.memory_free || facts.memory_bytes > then.memory_free) return Misfit::kMemory;
  place = Place{};
  place.node = n;
  const auto free_of = [&](int g) {
    return std::min(now.gpu_free[static_cast<size_t>(g)], then.gpu_free[static_cast<size_t>(g)]);
  };
  if (facts.gpus > 0) {
    if (now.whole_free < facts.gpus || then.whole_free < facts.gpus) return Misfit::kGpus;
    int32_t wanted = facts.gpus;
    for (int g = 0; g < then.gpus && wanted > 0; ++g) {
      if (free_of(g) != kMilli) continue;
      place.gpus |= uint64_t{1} << g;
      --wanted;
    }
    if (wanted > 0) return Misfit::kGpus;
  } else if (facts.milli > 0 || facts.gpu_memory > 0) {
    const int32_t share = share_on(facts, n);
    const uint64_t theirs = others_shares(facts, n, room);
    const uint64_t slowed = slowed_gpus(facts, n, room);
    int best = -1;
    Misfit why = Misfit::kGpus;
    for (int g = 0; g < then.gpus; ++g) {
      if (free_of(g) < share) continue;
      if (((theirs | slowed) >> g & 1) != 0) {
        if (why != Misfit::kSlowed) why = (theirs >> g & 1) != 0 ? Misfit::kOthersShares : Misfit::kSlowed;
        continue;
      }
      if (best < 0 || (shared == SharedGpu::kPack ? free_of(g) < free_of(best) : free_of(g) > free_of(best))) best = g;
    }
    if (best < 0) return why;
    place.gpus = uint64_t{1} << best;
    place.milli = share == kMilli ? 0 : share;
  }
  if (facts.plain) return Misfit::kFits;
  if (!facts.mig.empty() && !fit_mig(facts, n, room, place)) return Misfit::kGpus;
  return affinity_.admits(facts.affinity, n, room) ? Misfit::kFits : Misfit::kAffinity;
}

std::array<uint64_t, 2> Cluster::whole_for_mig(NodeId n) const {
  if (!mig_[n.index()].whole_gpus) return {~uint64_t{0}, ~uint64_t{0}};
  return {whole_gpus(free_[n]), whole_gpus(coming_[n])};
}

bool Cluster::fit_mig(const Facts& facts, NodeId n, Room room, Place& place) const {
  const MigNode& mig = mig_[n.index()];
  if (mig.geometry == nullptr) return stock_has(mig, facts.mig, room);
  const auto spot = find_spot(mig, dynamic_profile(facts, n), room, whole_for_mig(n));
  if (!spot) return false;
  place.gpus = uint64_t{1} << spot->gpu;
  place.mig_profile = static_cast<int16_t>(spot->profile);
  place.mig_start = static_cast<int16_t>(spot->start);
  return true;
}

std::optional<Place> Cluster::fit(RequestId r, NodeId n, Room room, SharedGpu shared) const {
  Place place;
  if (check(facts_[r.index()], n, room, shared, place) != Misfit::kFits) return std::nullopt;
  return place;
}

Misfit Cluster::why_not(RequestId r, NodeId n, Room room) const {
  Place place;
  return check(facts_[r.index()], n, room, SharedGpu::kPack, place);
}

int64_t Cluster::most_that_fit(RequestId r, NodeId n, Room room) const {
  const Facts& facts = facts_[r.index()];
  const NodeRecord& then = coming_[n];
  const NodeRecord& now = room == Room::kFree ? free_[n] : then;
  if (!then.usable || !is_eligible(r, n)) return 0;
  int64_t most = std::min(now.tasks_free, then.tasks_free);
  if (facts.cpu_milli > 0) most = std::min(most, std::min(now.cpu_free, then.cpu_free) / facts.cpu_milli);
  if (facts.memory_bytes > 0) most = std::min(most, std::min(now.memory_free, then.memory_free) / facts.memory_bytes);
  if (facts.gpus > 0) {
    most = std::min<int64_t>(most, std::min(now.whole_free, then.whole_free) / facts.gpus);
  } else if (facts.milli > 0 || facts.gpu_memory > 0) {
    const int32_t share = share_on(facts, n);
    int64_t shares = 0;
    for (size_t g = 0; g < static_cast<size_t>(then.gpus); ++g)
      shares += std::min(now.gpu_free[g], then.gpu_free[g]) / share;
    most = std::min(most, shares);
  } else if (!facts.mig.empty()) {
    most = std::min<int64_t>(most, most_instances(mig_[n.index()], facts.mig, dynamic_profile(facts, n), room, whole_for_mig(n)));
  }
  const auto refuses_itself = [&](int32_t term) {
    return std::find(facts.affinity.matches.begin(), facts.affinity.matches.end(), term) != facts.affinity.matches.end();
  };
  if (std::any_of(facts.affinity.refuses.begin(), facts.affinity.refuses.end(), refuses_itself))
    most = std::min<int64_t>(most, 1);
  return most;
}

bool Cluster::can_run_nominated(TaskId t) const {
  const Task& task = tasks_[t.index()];
  CHECK(task.state == TaskState::kNominated, "task {} is not nominated", t.index());
  const Facts& facts = facts_[task.request.index()];
  const NodeId n = task.place.node;
  const NodeRecord& now = free_[n];
  if (!now.usable || now.tasks_free < 1 || facts.cpu_milli > now.cpu_free || facts.memory_bytes > now.memory_free) return false;
  if (!facts.affinity.empty() && !affinity_.admits_promised(facts.affinity, n)) return false;
  if (!facts.mig.empty()) {
    const MigNode& mig = mig_[n.index()];
    if (task.place.mig_profile < 0) return stock_is_free_now(mig, facts.mig);
    return spot_is_free_now(mig, spot_of(task.place), whole_for_mig(n)[0]);
  }
  if (task.place.milli > 0 && (others_shares(facts, n, Room::kFree) & task.place.gpus) != 0) return false;
  // Who leaves is still there; whoever else is promised a part asks the same before it runs.
  const auto each_there = [&](auto&& visit) {
    for_each_on(n, [&](TaskId other) {
      const Task& there = tasks_[other.index()];
      if (there.place.milli > 0 && there.place.gpus == task.place.gpus && there.holds(Room::kFree))
        visit(other, facts_[there.request.index()].interference);
    });
  };
  if (task.place.milli > 0 && interference_.any_bounds() && breaks_a_bound(facts.interference, each_there)) return false;
  const int32_t share = task.place.milli > 0 ? task.place.milli : kMilli;
  for (uint64_t left = task.place.gpus; left != 0; left &= left - 1)
    if (now.gpu_free[static_cast<size_t>(std::countr_zero(left))] < share) return false;
  return true;
}

}  // namespace stint::sched
