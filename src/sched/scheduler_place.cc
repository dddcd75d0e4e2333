// Where tasks go. Plain shapes are placed by counting whole GPUs, each task on the fullest node; what asks for more is placed
// by the policy's scores, and what those do not know (MIG, affinity, room that is only coming) by looking at every node.
#include <algorithm>
#include <iterator>

#include "sched/scheduler_impl.h"

namespace stint::sched {
namespace {

/// What the scores know of a request; none when they do not know enough.
std::optional<PlacementShape> placement_shape(const Cluster& cluster, RequestId r) {
  const Request& request = cluster.request(r);
  if (!cluster.is_plain(r) || request.gpu_memory.count() > 0) return std::nullopt;
  return PlacementShape{.cpu_milli = request.cpu_milli,
                        .memory_bytes = request.memory.count(),
                        .gpus = static_cast<int16_t>(request.gpus),
                        .milli = static_cast<int16_t>(request.milli)};
}

}  // namespace

/// Does the job leave it to us which GPU it gets, and do they differ in price?
bool Scheduler::Impl::goes_by_price(const Request& request, int32_t tasks) const {
  return policy.cheapest && price_tiers.differ() && tasks == 1 && request.gpu_models.empty() &&
         (request.gpus > 0 || request.milli > 0 || request.gpu_memory.count() > 0);
}

/// The cheapest nodes first; among those of one price by the rules.
PickPlace Scheduler::Impl::cheapest_picker() {
  return [this](const Cluster& c, RequestId r, Room room, const Scope& scope) -> std::optional<Place> {
    std::vector<NodeId> both;
    for (const PriceTiers::Tier& tier : price_tiers.tiers()) {
      Scope in_tier{.everywhere = false, .nodes = tier.nodes};
      if (!scope.everywhere) {
        both.clear();
        std::ranges::set_intersection(tier.nodes, scope.nodes, std::back_inserter(both));
        in_tier.nodes = both;
      }
      if (const auto place = pick_by_rules(c, r, room, in_tier, {})) return place;
    }
    return std::nullopt;
  };
}

/// Of the nodes with `gpus` open GPUs the cheapest, of those the fullest, of those the smallest id. Not valid = none.
NodeId Scheduler::Impl::cheapest_open(int32_t gpus) const {
  const int64_t least = price_tiers.tiers().front().nanos_per_hour;
  NodeId best;
  open.buckets().for_each_from(gpus, [&](NodeId n) {
    if (!best.valid() || gpu_rates[n.index()].per_hour() < gpu_rates[best.index()].per_hour()) best = n;
    return gpu_rates[best.index()].per_hour().count_nanos() > least;  // nothing is cheaper, and fuller ones came before
  });
  return best;
}

PickPlace Scheduler::Impl::picker() {
  return [this](const Cluster& c, RequestId r, Room room, const Scope& scope) { return pick_place(c, r, room, scope); };
}

std::optional<Place> Scheduler::Impl::pick_place(const Cluster& c, RequestId r, Room room, const Scope& scope) {
  const auto shape = placement_shape(c, r);
  if (shape && room == Room::kFree && scope.everywhere) {
    const auto spot = scores.best(c.free(), r, *shape, c.eligible(r));
    std::optional<Place> place = spot ? c.fit(r, spot->node, room) : std::nullopt;
    // Where room is promised to others, the scores' GPUs may be theirs.
    if (place && held.empty() && moves.empty()) place->gpus = spot->gpus;
    if (place) return place;
  }
  return pick_by_rules(c, r, room, scope, {});
}

/// Tells the scores what is asked for.
void Scheduler::Impl::observe(JobId j) {
  for (const Task& task : tasks_of(j))
    if (const auto shape = placement_shape(cluster, task.request)) scores.observe(*shape);
}

/// Places a job that asks for more than whole GPUs: the tasks it needs to run together, then, elastic, the others one by one.
/// @param at_most  tasks, not fewer than need to run together.
std::optional<Amounts> Scheduler::Impl::place_in_detail(JobId j, int32_t at_most) {
  const JobTerms& spec = terms_of(j);
  const Gang* gang = shapes.gang(spec.gang);
  Amounts placed;
  JobRecord& r = jobs[j.index()];
  const PickPlace pick =
      goes_by_price(cluster.request(cluster.task(first_task(j)).request), spec.tasks) ? cheapest_picker() : picker();
  while (r.running < at_most) {
    const std::vector<TaskId> next = next_tasks(cluster, first_task(j), spec.tasks, gang, spec.min_tasks);
    if (next.empty() || !place_gang(cluster, next, gang, tasks_of(j), Room::kFree, pick, now, unclaimed({}))) break;
    for (const TaskId t : next) {
      add_place(cluster.task(t).place);
      add_to(placed, cluster.amounts(cluster.task(t).request));
      ++r.running;
    }
  }
  open.catch_up(cluster);
  return r.running > 0 ? std::optional(placed) : std::nullopt;
}

/// Could as many tasks as it needs run if nothing else did? Says yes where counting is not enough to know.
bool Scheduler::Impl::fits_idle_fleet(JobId j) const {
  const JobTerms& spec = terms_of(j);
  const Request& request = cluster.request(cluster.task(first_task(j)).request);
  const Gang* gang = shapes.gang(spec.gang);
  if ((gang != nullptr && !gang->tasks.empty()) || !cluster.is_plain(cluster.task(first_task(j)).request) ||
      request.gpu_memory.count() > 0)
    return true;
  int64_t fitting = 0;
  for (uint32_t n = 0; n < cluster.node_count() && fitting < spec.min_tasks; ++n) {
    if (!cluster.is_eligible(cluster.task(first_task(j)).request, NodeId(n))) continue;
    const NodeSpec& node = cluster.node(NodeId(n));
    int64_t here = node.max_tasks;
    if (request.cpu_milli > 0) here = std::min(here, node.cpu_milli / request.cpu_milli);
    if (request.memory.count() > 0) here = std::min(here, node.memory.count() / request.memory.count());
    if (request.gpus > 0) here = std::min<int64_t>(here, node.gpus / request.gpus);
    if (request.milli > 0) here = std::min<int64_t>(here, int64_t{node.gpus} * (kMilli / request.milli));
    fitting += here;
  }
  return fitting >= spec.min_tasks;
}

/// The nodes of the scope without those that are closed.
Scope Scheduler::Impl::unclaimed(const Scope& scope) {
  if (!open.withholds()) return scope;
  unclaimed_nodes.clear();
  scope.for_each(cluster, [&](NodeId n) {
    if (!open.is_closed(n)) unclaimed_nodes.push_back(n);
  });
  return {.everywhere = false, .nodes = unclaimed_nodes};
}

/// Runs those tasks of a plain job that do not run yet and fit, largest first, each on the fullest node.
Amounts Scheduler::Impl::place_tasks(JobId j, int32_t at_most) {
  JobRecord& r = jobs[j.index()];
  const Shape& shape = shapes[r.shape];
  Amounts placed;
  for (const int32_t offset : shape.order) {
    if (at_most == 0) break;
    const TaskId t(r.first_task + static_cast<uint32_t>(offset));
    const RequestId request = cluster.task(t).request;
    if (cluster.task(t).state != TaskState::kPending) continue;
    const int32_t gpus = cluster.request(request).gpus;
    const NodeId n = goes_by_price(cluster.request(request), shape.tasks) ? cheapest_open(gpus) : open.best_fit(gpus);
    if (!n.valid()) continue;
    Place place;
    place.task = t;
    place.node = n;
    place.gpus = OpenNodes::first_gpus(cluster, n, gpus);
    cluster.run(t, place, now);
    open.catch_up(cluster);
    add_place(place);
    add_to(placed, shape.tasks == 1 ? shape.total : cluster.amounts(request));
    ++r.running;
    --at_most;
  }
  return placed;
}

/// Promises room that is coming to the tasks that must run together. @return false: it does not fit.
bool Scheduler::Impl::nominate_in_detail(JobId j) {
  const JobTerms& spec = terms_of(j);
  const Gang* gang = shapes.gang(spec.gang);
  const std::vector<TaskId> tasks = next_tasks(cluster, first_task(j), spec.tasks, gang, spec.min_tasks);
  return !tasks.empty() && place_gang(cluster, tasks, gang, tasks_of(j), Room::kComing, picker(), {}, unclaimed({}));
}

}  // namespace stint::sched
