#include "sched/place/place_tasks.h"

#include <algorithm>
#include <tuple>

namespace stint::sched {
namespace {

// Beyond this tasks count as not placeable: a gang so unlike a gang is not worth seconds of search.
constexpr int kSearchSteps = 8192;

struct Ranked {
  TaskId task;
  RequestId request;
  int64_t fitting = 0;  // nodes
  Amounts amounts;
  [[nodiscard]] auto key() const {
    return std::tuple(-amounts.gpu_milli, fitting, -amounts.cpu_milli, -amounts.memory_bytes, request, task);
  }
};

}  // namespace

bool TaskPlacer::place(std::span<const TaskId> tasks, const Scope& scope) {
  if (tasks.size() > 1 && !may_fit(tasks, scope)) return false;
  if (place_in_order(tasks, scope)) return true;
  if (tasks.size() < 2 || !order_matters(tasks)) return false;
  const std::vector<TaskId> ordered = hardest_first(tasks, scope);
  return !ordered.empty() && (place_in_order(ordered, scope) || search(ordered, scope, 0));
}

bool TaskPlacer::may_fit(std::span<const TaskId> tasks, const Scope& scope) const {
  const auto request_of = [&](TaskId t) { return cluster_.task(t).request; };
  const bool alike = std::ranges::all_of(tasks, [&](TaskId t) { return request_of(t) == request_of(tasks[0]); });
  // Runs of equal requests: what lies apart is counted apart, which errs on the side of trying.
  for (size_t begin = 0, end = 0; begin < tasks.size(); begin = end) {
    const RequestId r = request_of(tasks[begin]);
    while (end < tasks.size() && request_of(tasks[end]) == r)
      ++end;
    if (!may_fit(r, static_cast<int64_t>(end - begin), scope, alike)) return false;
  }
  return true;
}

/// @param alone  no other task comes with them: where one does not fit because of its neighbours, none will.
bool TaskPlacer::may_fit(RequestId r, int64_t count, const Scope& scope, bool alone) const {
  const bool ask_neighbours = alone && cluster_.minds_neighbours(r);
  scope.for_each(cluster_, [&](NodeId n) {
    if (count <= 0) return;
    const int64_t here = cluster_.most_that_fit(r, n, room_);
    if (here > 0 && (!ask_neighbours || cluster_.why_not(r, n, room_) == Misfit::kFits)) count -= here;
  });
  return count <= 0;
}

std::vector<TaskId> TaskPlacer::place_some(std::span<const TaskId> tasks, const Scope& scope) {
  std::vector<TaskId> placed;
  RequestId does_not_fit;
  for (const TaskId t : tasks) {
    const RequestId r = cluster_.task(t).request;
    if (r == does_not_fit) continue;
    const auto place = pick_(cluster_, r, room_, scope);
    if (place) {
      put(t, *place);
      placed.push_back(t);
    } else {
      does_not_fit = r;
    }
  }
  return placed;
}

bool TaskPlacer::place_in_order(std::span<const TaskId> tasks, const Scope& scope) {
  Attempt attempt(cluster_);
  for (const TaskId t : tasks) {
    const auto place = pick_(cluster_, cluster_.task(t).request, room_, scope);
    if (!place) return false;
    put(t, *place);
  }
  attempt.keep();
  return true;
}

/// Of tasks that are all alike each node takes as many as it can whichever come first, unless they want to be near each other
/// or keep their distance in more than one way.
bool TaskPlacer::order_matters(std::span<const TaskId> tasks) const {
  const RequestId first = cluster_.task(tasks[0]).request;
  const Request& request = cluster_.request(first);
  return !request.affinity.empty() || request.anti_affinity.size() > 1 ||
         std::any_of(tasks.begin(), tasks.end(), [&](TaskId t) { return cluster_.task(t).request != first; });
}

/// Empty when one of them fits nowhere, and no other task's arrival could change that.
std::vector<TaskId> TaskPlacer::hardest_first(std::span<const TaskId> tasks, const Scope& scope) const {
  std::vector<Ranked> ranked;
  bool affinity = false;
  for (const TaskId t : tasks) {
    const RequestId r = cluster_.task(t).request;
    const auto alike = std::find_if(ranked.begin(), ranked.end(), [&](const Ranked& known) { return known.request == r; });
    int64_t fitting = 0;
    if (alike != ranked.end())
      fitting = alike->fitting;
    else
      scope.for_each(cluster_, [&](NodeId n) { fitting += cluster_.why_not(r, n, room_) == Misfit::kFits; });
    ranked.push_back({t, r, fitting, cluster_.amounts(r)});
    affinity = affinity || !cluster_.request(r).affinity.empty();
  }
  if (!affinity && std::any_of(ranked.begin(), ranked.end(), [](const Ranked& r) { return r.fitting == 0; })) return {};
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.key() < b.key(); });
  std::vector<TaskId> out;
  for (const Ranked& r : ranked)
    out.push_back(r.task);
  return out;
}

/// Depth first over nodes. Equal tasks go to nodes in ascending order, so that permutations are tried once; not so where
/// affinity makes an earlier task open a node to a later one. @param from  first node to try.
bool TaskPlacer::search(std::span<const TaskId> tasks, const Scope& scope, uint32_t from) {
  if (tasks.empty()) return true;
  const RequestId r = cluster_.task(tasks[0]).request;
  const bool equal_next = tasks.size() > 1 && cluster_.task(tasks[1]).request == r && cluster_.request(r).affinity.empty();
  std::vector<NodeId> nodes;
  scope.for_each(cluster_, [&](NodeId n) {
    if (n.index() >= from) nodes.push_back(n);
  });
  for (const NodeId n : nodes) {
    if (++steps_ > kSearchSteps) return false;
    const auto place = cluster_.fit(r, n, room_);
    if (!place) continue;
    Attempt attempt(cluster_);
    put(tasks[0], *place);
    if (!search(tasks.subspan(1), scope, equal_next ? n.index() : 0)) continue;
    attempt.keep();
    return true;
  }
  return false;
}

void TaskPlacer::put(TaskId t, const Place& place) {
  if (room_ == Room::kFree)
    cluster_.run(t, place, now_);
  else
    cluster_.nominate(t, place);
}

}  // namespace stint::sched
