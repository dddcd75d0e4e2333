// Where tasks go. Plain shapes are placed by counting whole GPUs, each task on the fullest node; what asks for more is placed
// by the policy's scores, and what those do not know (MIG, affinity, room that is only coming) by looking at every node.
#include <algorithm>
#include <bit>
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

/// Is one of these GPUs, free as they are, promised to another task? Also in a search, whose promises are on paper only.
/// @param milli  wanted of each; 0 = all of it.
bool is_promised(const NodeRecord& then, uint64_t gpus, int32_t milli) {
  for (; gpus != 0; gpus &= gpus - 1)
    if (then.gpu_free[static_cast<size_t>(std::countr_zero(gpus))] < (milli == 0 ? kMilli : milli)) return true;
  return false;
}

/// Does it leave it to us which GPUs it gets?
bool takes_any_gpu(const Request& request) {
  return request.gpu_models.empty() && (request.gpus > 0 || request.milli > 0 || request.gpu_memory.count() > 0);
}

}  // namespace

/// Does the task leave it to us which GPUs it gets, and do they differ in price?
bool Scheduler::Impl::goes_by_price(const Request& request) const {
  return policy.cheapest && price_tiers.differ() && takes_any_gpu(request);
}

/// Tasks of a gang wait for each other, so they go on GPUs of one model where they fit. @return the models to try in turn,
/// the one with the cheapest machine first; of a gang with tasks on nodes only theirs; empty where there is no choice.
std::vector<int32_t> Scheduler::Impl::models_for(JobId j) const {
  const std::span<const Task> tasks = tasks_of(j);
  if (!policy.cheapest || tasks.size() == 1 || gpu_models.in_use() < 2) return {};
  if (!std::ranges::all_of(tasks, [&](const Task& t) { return takes_any_gpu(cluster.request(t.request)); })) return {};
  if (const auto mate = std::ranges::find_if(tasks, &Task::on_node); mate != tasks.end())
    return {gpu_models.of(mate->place.node)};
  std::vector<int32_t> models;
  for (const PriceTiers::Tier& tier : price_tiers.tiers())
    for (const NodeId n : tier.nodes) {
      if (models.size() == gpu_models.in_use()) return models;
      if (std::ranges::find(models, gpu_models.of(n)) == models.end()) models.push_back(gpu_models.of(n));
    }
  return models;
}

/// The first of models_for that takes all tasks of a plain job; kNone = there is no choice, or none does.
int32_t Scheduler::Impl::model_for_all(JobId j) const {
  const std::vector<int32_t> models = models_for(j);
  if (models.size() == 1) return models.front();
  for (const int32_t model : models) {
    NodeBuckets::Counts counts{};
    for (const NodeId n : gpu_models.nodes(model))
      if (const int count = open.buckets().at(n); count != NodeBuckets::kNowhere) ++counts[static_cast<size_t>(count)];
    if (OpenNodes::fits_whole(shapes[jobs[j.index()].shape], counts)) return model;
  }
  return GpuModels::kNone;
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

/// Of the nodes with `gpus` open GPUs of the model (kNone = of any) the cheapest where that counts, of those the fullest, of
/// those the smallest id. Not valid = none.
NodeId Scheduler::Impl::open_node(int32_t gpus, bool by_price, int32_t model) const {
  if (!by_price && model == GpuModels::kNone) return open.best_fit(gpus);
  const int64_t least = by_price ? price_tiers.tiers().front().nanos_per_hour : INT64_MAX;
  NodeId best;
  open.buckets().for_each_from(gpus, [&](NodeId n) {
    if (model != GpuModels::kNone && gpu_models.of(n) != model) return true;
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
    if (place && !is_promised(c.coming()[spot->node], spot->gpus, shape->milli)) {
      // The scores do not know who shares with whom: where they chose another's GPU, every node is looked at.
      if (c.may_share(r, spot->node, spot->gpus, room))
        place->gpus = spot->gpus;
      else
        place.reset();
    }
    if (place) return place;
  }
  return pick_by_rules(c, r, room, scope, {});
}

/// Tells the scores what is asked for.
void Scheduler::Impl::observe(JobId j) {
  for (const Task& task : tasks_of(j))
    if (const auto shape = placement_shape(cluster, task.request)) scores.observe(*shape);
}

/// Places what comes next of a job that asks for more than whole GPUs: the tasks it needs to run together, or one more. Within
/// the limits of its queues.
std::optional<Amounts> Scheduler::Impl::place_in_detail(JobId j) {
  JobRecord& r = jobs[j.index()];
  const std::vector<TaskId> together = tasks_to_place(j);
  if (together.empty()) return std::nullopt;
  const Amounts wanted = amounts_of(together);
  const bool limited = queues.limiting(r.queue, wanted, shapes[r.shape].preemptible).valid();
  const bool placed = !limited && place_together(j, together, Room::kFree);
  open.catch_up(cluster);
  if (!placed) return std::nullopt;
  for (const TaskId t : together)
    draft.add_place(cluster.task(t).place);
  r.running += static_cast<int32_t>(together.size());
  return wanted;
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
  const int32_t model = model_for_all(j);
  for (const int32_t offset : shape.order) {
    if (at_most == 0) break;
    const TaskId t(r.first_task + static_cast<uint32_t>(offset));
    const RequestId request = cluster.task(t).request;
    if (cluster.task(t).state != TaskState::kPending) continue;
    const int32_t gpus = cluster.request(request).gpus;
    const bool by_price = goes_by_price(cluster.request(request));
    NodeId n = open_node(gpus, by_price, model);
    if (!n.valid()) n = open_node(gpus, by_price, GpuModels::kNone);
    if (!n.valid()) continue;
    Place place;
    place.task = t;
    place.node = n;
    place.gpus = OpenNodes::first_gpus(cluster, n, gpus);
    cluster.run(t, place, now);
    open.catch_up(cluster);
    draft.add_place(place);
    add_to(placed, shape.tasks == 1 ? shape.total : cluster.amounts(request));
    ++r.running;
    --at_most;
  }
  return placed;
}

/// Promises room that is coming to the tasks that must run together. @return false: it does not fit.
bool Scheduler::Impl::nominate_in_detail(JobId j) {
  const std::vector<TaskId> tasks = tasks_to_place(j);
  return !tasks.empty() && place_together(j, tasks, Room::kComing);
}

}  // namespace stint::sched
