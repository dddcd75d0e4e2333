#include "sched/place/place_gang.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

#include "sched/place/place_tasks.h"

namespace stint::sched {
namespace {

// Beyond this a gang counts as not placeable: so much topology is not worth seconds of search.
constexpr int kDomainTries = 4096;

bool has_wish(const TopologyWish& wish) { return !wish.required_level.empty() || !wish.preferred_level.empty(); }

/// One attempt at one gang.
class GangPlacer {
 public:
  GangPlacer(Cluster& cluster, std::span<const TaskId> tasks, const PickPlace& pick, const GangTerms& terms)
      : cluster_(cluster), tasks_(tasks), gang_(terms.gang), mates_(terms.mates), placer_(cluster, terms.room, pick, terms.now) {}

  bool place(const Scope& within) {
    if (tasks_.size() > 1 && !placer_.may_fit(tasks_, within)) return false;
    const bool simple =
        gang_ == nullptr || (!has_wish(gang_->topology) && std::none_of(gang_->groups.begin(), gang_->groups.end(),
                                                                        [](const GangGroup& g) { return has_wish(g.topology); }));
    if (simple) return placer_.place(tasks_, within);
    return place_group(-1, within, [] { return true; });
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

  struct Candidate {
    size_t widening = 0;  // levels above the preferred one
    bool elsewhere = false;
    int64_t free = 0;
    size_t number = 0;
    std::vector<NodeId> nodes;
    [[nodiscard]] auto key() const { return std::tuple(widening, elsewhere, free, number); }
  };

  /// The group in one of its domains, then `rest`; another domain when the rest does not fit.
  bool place_group(int32_t group, const Scope& scope, const Rest& rest) {
    if (tasks_inside(group).empty()) return rest();
    const TopologyWish& wish = wish_of(group);
    if (!has_wish(wish)) return place_members(group, scope, rest);
    for (const Candidate& candidate : candidate_domains(group, scope)) {
      if (++domain_tries_ > kDomainTries) return false;
      const Scope inside{false, candidate.nodes};
      if (candidate.widening > 0 && place_compactly(group, inside, rest)) return true;
      if (place_members(group, inside, rest)) return true;
    }
    if (!wish.required_level.empty()) return false;
    return place_compactly(group, scope, rest) || place_members(group, scope, rest);
  }

  /// Over as few domains of the preferred level as a greedy choice finds: always the one that takes most of what is left, and
  /// of those that take all of it the fullest. Only for groups that hold no wishes further down.
  bool place_compactly(int32_t group, const Scope& scope, const Rest& rest) {
    const TopologyWish& wish = wish_of(group);
    const auto level = std::find(wish.levels.begin(), wish.levels.end(), wish.preferred_level);
    if (level == wish.levels.end() || has_wish_below(group)) return false;
    std::vector<Candidate> domains;
    add_candidates(group, {wish.levels.begin(), level + 1}, 0, 0, scope, domains);
    std::sort(domains.begin(), domains.end(),
              [](const Candidate& a, const Candidate& b) { return std::pair(-a.free, a.number) < std::pair(-b.free, b.number); });
    std::vector<TaskId> left = tasks_inside(group);
    Attempt attempt(cluster_);
    while (!left.empty()) {
      const Candidate* best = nullptr;
      size_t most = 0;
      for (const Candidate& domain : domains) {
        Attempt trial(cluster_);
        const size_t fitting = placer_.place_some(left, Scope{false, domain.nodes}).size();
        if (fitting <= most && (fitting < left.size() || fitting == 0)) continue;
        best = &domain;
        most = fitting;
      }
      if (best == nullptr) return false;
      for (const TaskId t : placer_.place_some(left, Scope{false, best->nodes}))
        std::erase(left, t);
    }
    if (!rest()) return false;
    attempt.keep();
    return true;
  }

  [[nodiscard]] bool has_wish_below(int32_t group) const {
    for (size_t g = 0; g < gang_->groups.size(); ++g)
      if (static_cast<int32_t>(g) != group && is_inside(static_cast<int32_t>(g), group) && has_wish(gang_->groups[g].topology))
        return true;
    return false;
  }

  /// Sub-groups first, those that need most before others; then the group's own tasks.
  bool place_members(int32_t group, const Scope& scope, const Rest& rest) {
    std::vector<int32_t> children;
    for (size_t g = 0; g < gang_->groups.size(); ++g)
      if (gang_->groups[g].parent == group) children.push_back(static_cast<int32_t>(g));
    std::stable_sort(children.begin(), children.end(), [&](int32_t a, int32_t b) {
      return std::pair(has_wish(wish_of(a)), need_of(a).size) > std::pair(has_wish(wish_of(b)), need_of(b).size);
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
    if (!placer_.place(own, scope) || !rest()) return false;
    attempt.keep();
    return true;
  }

  struct Need {
    std::pair<int64_t, int64_t> size;  // milli-GPU, milli-CPU
    int64_t at_least = 0;              // milli of GPUs that nodes' tables must show as free
  };
  [[nodiscard]] Need need_of(int32_t group) const {
    Need need;
    for (const TaskId t : tasks_inside(group)) {
      const RequestId r = cluster_.task(t).request;
      const Amounts amounts = cluster_.amounts(r);
      need.size.first += amounts.gpu_milli;
      need.size.second += amounts.cpu_milli;
      need.at_least += int64_t{cluster_.request(r).gpus} * kMilli + cluster_.request(r).milli;
    }
    return need;
  }

  /// Narrowest level first; of one level those where mates are, then the fullest, then by first node.
  std::vector<Candidate> candidate_domains(int32_t group, const Scope& scope) {
    const TopologyWish& wish = wish_of(group);
    const auto index_of = [&](const std::string& level) {
      return static_cast<size_t>(std::find(wish.levels.begin(), wish.levels.end(), level) - wish.levels.begin());
    };
    const size_t widest = wish.required_level.empty() ? 0 : index_of(wish.required_level);
    const size_t narrowest = wish.preferred_level.empty() ? widest : std::max(widest, index_of(wish.preferred_level));
    if (narrowest >= wish.levels.size()) return {};
    std::vector<Candidate> found;
    const int64_t at_least = need_of(group).at_least;
    for (size_t level = narrowest + 1; level-- > widest;)
      add_candidates(group, std::span(wish.levels).first(level + 1), narrowest - level, at_least, scope, found);
    if (!wish.required_level.empty()) keep_only_mates_domain(group, std::span(wish.levels).first(widest + 1), found);
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) { return a.key() < b.key(); });
    return found;
  }

  [[nodiscard]] bool is_mate(const Task& task, int32_t group) const { return task.active() && is_inside(task.group, group); }

  /// @param at_least  domains with less free are left out.
  void add_candidates(int32_t group, std::span<const std::string> levels, size_t widening, int64_t at_least, const Scope& scope,
                      std::vector<Candidate>& found) {
    const Domains& domains = cluster_.domains(levels);
    std::vector<bool> has_mates(domains.count());
    bool any_mates = false;
    for (const Task& mate : mates_) {
      if (!is_mate(mate, group) || domains.of(mate.place.node) < 0) continue;
      has_mates[static_cast<size_t>(domains.of(mate.place.node))] = any_mates = true;
    }
    const bool by_gpu = need_of(group).size.first > 0;
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
        candidate.free += by_gpu ? placer_.table()[n].milli_free : placer_.table()[n].cpu_free;
      if (!by_gpu || candidate.free >= at_least) found.push_back(std::move(candidate));
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

  Cluster& cluster_;
  std::span<const TaskId> tasks_;
  const Gang* gang_;
  std::span<const Task> mates_;
  TaskPlacer placer_;
  int domain_tries_ = 0;
};

}  // namespace

bool place_gang(Cluster& cluster, std::span<const TaskId> tasks, const PickPlace& pick, const GangTerms& terms) {
  Attempt attempt(cluster);
  if (!GangPlacer(cluster, tasks, pick, terms).place(terms.within)) return false;
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
