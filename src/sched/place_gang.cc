#include "sched/place_gang.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

namespace stint::sched {
namespace {

// Beyond these a gang counts as not placeable: what differs from a simple gang so much is not worth seconds of search.
constexpr int kDomainTries = 4096;
constexpr int kSearchSteps = 4096;

bool has_wish(const TopologyWish& wish) { return !wish.required_level.empty() || !wish.preferred_level.empty(); }

/// One attempt at one gang.
class GangPlacer {
 public:
  GangPlacer(Cluster& cluster, std::span<const TaskId> tasks, const Gang* gang, std::span<const Task> mates, Room room,
             const PickPlace& pick, Instant now)
      : cluster_(cluster), tasks_(tasks), gang_(gang), mates_(mates), room_(room), pick_(pick), now_(now) {}

  bool place() {
    const bool simple =
        gang_ == nullptr || (!has_wish(gang_->topology) && std::none_of(gang_->groups.begin(), gang_->groups.end(),
                                                                        [](const GangGroup& g) { return has_wish(g.topology); }));
    if (simple) return place_tasks(tasks_, Scope{});
    return place_group(-1, Scope{}, [] { return true; });
  }

 private:
  using Rest = std::function<bool()>;

  [[nodiscard]] const TopologyWish& wish_of(int32_t group) const {
    return group < 0 ? gang_->topology : gang_->groups[static_cast<size_t>(group)].topology;
  }
  [[nodiscard]] bool is_inside(int32_t group, int32_t ancestor) const {
    while (group >= 0 && group != ancestor)
      group = gang_->groups[static_cast<size_t>(group)].parent;
    return group == ancestor;
  }
  [[nodiscard]] std::vector<TaskId> tasks_inside(int32_t group) const {
    std::vector<TaskId> out;
    for (const TaskId t : tasks_)
      if (is_inside(cluster_.task(t).group, group)) out.push_back(t);
    return out;
  }

  /// The group in one of its domains, then `rest`; another domain when the rest does not fit.
  bool place_group(int32_t group, const Scope& scope, const Rest& rest) {
    if (tasks_inside(group).empty()) return rest();
    const TopologyWish& wish = wish_of(group);
    if (!has_wish(wish)) return place_members(group, scope, rest);
    for (const std::vector<NodeId>& nodes : candidate_domains(group, scope)) {
      if (++domain_tries_ > kDomainTries) return false;
      Attempt attempt(cluster_);
      if (!place_members(group, Scope{false, nodes}, rest)) continue;
      attempt.keep();
      return true;
    }
    if (!wish.required_level.empty()) return false;
    return place_members(group, scope, rest);
  }

  /// Sub-groups first, those that need most before others; then the group's own tasks.
  bool place_members(int32_t group, const Scope& scope, const Rest& rest) {
    std::vector<int32_t> children;
    for (size_t g = 0; g < gang_->groups.size(); ++g)
      if (gang_->groups[g].parent == group) children.push_back(static_cast<int32_t>(g));
    std::stable_sort(children.begin(), children.end(), [&](int32_t a, int32_t b) {
      return std::pair(has_wish(wish_of(a)), need_of(a)) > std::pair(has_wish(wish_of(b)), need_of(b));
    });
    return place_children(children, 0, group, scope, rest);
  }

  bool place_children(const std::vector<int32_t>& children, size_t next, int32_t group, const Scope& scope, const Rest& rest) {
    if (next < children.size())
      return place_group(children[next], scope, [&, next] { return place_children(children, next + 1, group, scope, rest); });
    std::vector<TaskId> own;
    for (const TaskId t : tasks_)
      if (cluster_.task(t).group == group) own.push_back(t);
    Attempt attempt(cluster_);
    if (!place_tasks(own, scope) || !rest()) return false;
    attempt.keep();
    return true;
  }

  /// GPUs asked by all tasks of the group, or CPUs when none asks for a GPU.
  [[nodiscard]] std::pair<int64_t, int64_t> need_of(int32_t group) const {
    int64_t gpu = 0;
    int64_t cpu = 0;
    for (const TaskId t : tasks_inside(group)) {
      const Amounts a = cluster_.amounts(cluster_.task(t).request);
      gpu += a.gpu_milli;
      cpu += a.cpu_milli;
    }
    return {gpu, cpu};
  }

  struct Candidate {
    size_t widening = 0;  // levels above the preferred one
    bool elsewhere = false;
    int64_t free = 0;
    size_t number = 0;
    std::vector<NodeId> nodes;
    [[nodiscard]] auto key() const { return std::tuple(widening, elsewhere, free, number); }
  };

  /// Narrowest level first; of one level those where mates are, then the fullest, then by first node.
  std::vector<std::vector<NodeId>> candidate_domains(int32_t group, const Scope& scope) {
    const TopologyWish& wish = wish_of(group);
    const auto index_of = [&](const std::string& level) {
      return static_cast<size_t>(std::find(wish.levels.begin(), wish.levels.end(), level) - wish.levels.begin());
    };
    const size_t widest = wish.required_level.empty() ? 0 : index_of(wish.required_level);
    const size_t narrowest = wish.preferred_level.empty() ? widest : std::max(widest, index_of(wish.preferred_level));
    if (narrowest >= wish.levels.size()) return {};
    std::vector<Candidate> found;
    for (size_t level = narrowest + 1; level-- > widest;) {
      add_candidates(group, std::span(wish.levels).first(level + 1), narrowest - level, scope, found);
    }
    if (!wish.required_level.empty()) keep_only_mates_domain(group, std::span(wish.levels).first(widest + 1), found);
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) { return a.key() < b.key(); });
    std::vector<std::vector<NodeId>> out;
    for (Candidate& candidate : found)
      out.push_back(std::move(candidate.nodes));
    return out;
  }

  [[nodiscard]] bool is_mate(const Task& task, int32_t group) const { return task.active() && is_inside(task.group, group); }

  void add_candidates(int32_t group, std::span<const std::string> levels, size_t widening, const Scope& scope,
                      std::vector<Candidate>& found) {
    const Domains& domains = cluster_.domains(levels);
    std::vector<bool> has_mates(domains.count());
    bool any_mates = false;
    for (const Task& mate : mates_) {
      if (!is_mate(mate, group) || domains.of(mate.place.node) < 0) continue;
      has_mates[static_cast<size_t>(domains.of(mate.place.node))] = any_mates = true;
    }
    const bool by_gpu = need_of(group).first > 0;
    for (size_t d = 0; d < domains.count(); ++d) {
      Candidate candidate{widening, any_mates && !has_mates[d], 0, d, {}};
      const auto members = domains.members(d);
      if (scope.everywhere)
        candidate.nodes.assign(members.begin(), members.end());
      else
        std::set_intersection(members.begin(), members.end(), scope.nodes.begin(), scope.nodes.end(),
                              std::back_inserter(candidate.nodes));
      if (candidate.nodes.empty()) continue;
      for (const NodeId n : candidate.nodes)
        candidate.free += by_gpu ? table()[n].milli_free : table()[n].cpu_free;
      found.push_back(std::move(candidate));
    }
  }

  /// Mates that are somewhere already bind the required domain.
  void keep_only_mates_domain(int32_t group, std::span<const std::string> levels, std::vector<Candidate>& found) {
    const Domains& domains = cluster_.domains(levels);
    for (const Task& mate : mates_) {
      if (!is_mate(mate, group)) continue;
      const int32_t bound_to = domains.of(mate.place.node);
      std::erase_if(found, [&](const Candidate& c) { return bound_to < 0 || domains.of(c.nodes.front()) != bound_to; });
    }
  }

  [[nodiscard]] const NodeTable& table() const { return room_ == Room::kFree ? cluster_.free() : cluster_.coming(); }

  void put(TaskId t, const Place& place) {
    if (room_ == Room::kFree)
      cluster_.run(t, place, now_);
    else
      cluster_.nominate(t, place);
  }

  bool place_in_order(std::span<const TaskId> tasks, const Scope& scope) {
    Attempt attempt(cluster_);
    for (const TaskId t : tasks) {
      const auto place = pick_(cluster_, cluster_.task(t).request, room_, scope);
      if (!place) return false;
      put(t, *place);
    }
    attempt.keep();
    return true;
  }

  struct Ranked {
    TaskId task;
    RequestId request;
    int64_t fitting = 0;
    Amounts amounts;
    [[nodiscard]] auto key() const {
      return std::tuple(-amounts.gpu_milli, fitting, -amounts.cpu_milli, -amounts.memory_bytes, request, task);
    }
  };

  /// In the order given; if that fails and order can matter, the most constrained first; then by search.
  bool place_tasks(std::span<const TaskId> tasks, const Scope& scope) {
    if (place_in_order(tasks, scope)) return true;
    const auto request = [&](TaskId t) { return cluster_.task(t).request; };
    const bool order_matters = std::any_of(
        tasks.begin(), tasks.end(), [&](TaskId t) { return request(t) != request(tasks[0]) || !cluster_.is_plain(request(t)); });
    if (tasks.size() < 2 || !order_matters) return false;
    std::vector<Ranked> ranked;
    for (const TaskId t : tasks)
      ranked.push_back(rank(t, scope));
    if (std::any_of(ranked.begin(), ranked.end(), [](const Ranked& r) { return r.fitting == 0; }) &&
        std::none_of(tasks.begin(), tasks.end(), [&](TaskId t) { return !cluster_.request(request(t)).affinity.empty(); }))
      return false;
    std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.key() < b.key(); });
    std::vector<TaskId> hardest_first;
    for (const Ranked& r : ranked)
      hardest_first.push_back(r.task);
    if (place_in_order(hardest_first, scope)) return true;
    int steps = 0;
    return search(hardest_first, scope, steps);
  }

  [[nodiscard]] Ranked rank(TaskId t, const Scope& scope) const {
    const RequestId r = cluster_.task(t).request;
    Ranked out{t, r, 0, cluster_.amounts(r)};
    scope.for_each(cluster_, [&](NodeId n) { out.fitting += cluster_.why_not(r, n, room_) == Misfit::kFits; });
    return out;
  }

  /// Depth first over nodes. Equal tasks go to nodes in ascending order, so that permutations are tried once; not so where
  /// affinity makes an earlier task open a node to a later one.
  bool search(std::span<const TaskId> tasks, const Scope& scope, int& steps, uint32_t from = 0) {
    if (tasks.empty()) return true;
    const RequestId r = cluster_.task(tasks[0]).request;
    std::vector<NodeId> nodes;
    scope.for_each(cluster_, [&](NodeId n) {
      if (n.index() >= from) nodes.push_back(n);
    });
    for (const NodeId n : nodes) {
      if (++steps > kSearchSteps) return false;
      const auto place = cluster_.fit(r, n, room_);
      if (!place) continue;
      Attempt attempt(cluster_);
      put(tasks[0], *place);
      const bool equal_next = tasks.size() > 1 && cluster_.task(tasks[1]).request == r && cluster_.request(r).affinity.empty();
      if (!search(tasks.subspan(1), scope, steps, equal_next ? n.index() : 0)) continue;
      attempt.keep();
      return true;
    }
    return false;
  }

  Cluster& cluster_;
  std::span<const TaskId> tasks_;
  const Gang* gang_;
  std::span<const Task> mates_;
  Room room_;
  const PickPlace& pick_;
  Instant now_;
  int domain_tries_ = 0;
};

}  // namespace

bool place_gang(Cluster& cluster, std::span<const TaskId> tasks, const Gang* gang, std::span<const Task> mates, Room room,
                const PickPlace& pick, Instant now) {
  Attempt attempt(cluster);
  if (!GangPlacer(cluster, tasks, gang, mates, room, pick, now).place()) return false;
  attempt.keep();
  return true;
}

std::vector<TaskId> next_tasks(const Cluster& cluster, TaskId first, int32_t count, const Gang* gang, int32_t min_tasks) {
  struct Leaf {
    int32_t minimum = 0;
    int32_t active = 0;
  };
  // Leaf −1 is the job itself, at index 0.
  std::vector<Leaf> leaves(1 + (gang == nullptr ? 0 : gang->groups.size()));
  if (leaves.size() == 1) leaves[0].minimum = min_tasks;
  for (size_t g = 1; g < leaves.size(); ++g)
    leaves[g].minimum = gang->groups[g - 1].min_tasks;
  std::vector<TaskId> pending;
  for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
    const TaskId t(first.index() + i);
    const Task& task = cluster.task(t);
    if (task.active()) ++leaves[static_cast<size_t>(task.group + 1)].active;
    if (task.state == TaskState::kPending) pending.push_back(t);
  }
  std::stable_sort(pending.begin(), pending.end(),
                   [&](TaskId a, TaskId b) { return cluster.task(a).priority > cluster.task(b).priority; });
  std::vector<TaskId> out;
  for (const TaskId t : pending) {
    Leaf& leaf = leaves[static_cast<size_t>(cluster.task(t).group + 1)];
    if (leaf.active >= leaf.minimum) continue;
    ++leaf.active;
    out.push_back(t);
  }
  if (std::any_of(leaves.begin(), leaves.end(), [](const Leaf& leaf) { return leaf.active < leaf.minimum; })) return {};
  if (out.empty() && !pending.empty()) out.push_back(pending.front());
  return out;
}

}  // namespace stint::sched
