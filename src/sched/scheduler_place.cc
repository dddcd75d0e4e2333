// Where tasks go. Plain shapes are placed by counting whole GPUs, each task on the fullest node; what asks for more is placed
// by the policy's scores, and what those do not know (MIG, affinity, room that is only coming) by looking at every node.
#include "sched/scheduler_place.h"

#include <algorithm>
#include <bit>
#include <iterator>

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

bool Placer::place_by_rules(JobId j, std::span<const TaskId> tasks, Room room) {
  return place_gang(
      book_.cluster, tasks, picker(),
      {.gang = s_.jobs.gang_of(j), .mates = s_.jobs.tasks_of(j), .room = room, .now = s_.clock.now, .within = unclaimed({})});
}

bool Placer::place_together(JobId j, std::span<const TaskId> tasks, Room room) {
  const Gang* gang = s_.jobs.gang_of(j);
  const PickPlace pick =
      goes_by_price(book_.cluster.request(book_.cluster.task(tasks.front()).request)) ? cheapest_picker() : picker();
  const auto place = [&](const Scope& scope) {
    return place_gang(
        book_.cluster, tasks, pick,
        {.gang = gang, .mates = s_.jobs.tasks_of(j), .room = room, .now = s_.clock.now, .within = unclaimed(scope)});
  };
  const auto on_model = [&](int32_t model) { return place({.everywhere = false, .nodes = book_.gpu_models.nodes(model)}); };
  return std::ranges::any_of(models_for(j), on_model) || place({});
}

/// Does the task leave it to us which GPUs it gets, and do they differ in price?
bool Placer::goes_by_price(const Request& request) const {
  return s_.policy.cheapest && book_.price_tiers.differ() && takes_any_gpu(request);
}

/// Tasks of a gang wait for each other, so they go on GPUs of one model where they fit. @return the models to try in turn,
/// the one with the cheapest machine first; of a gang with tasks on nodes only theirs; empty where there is no choice.
std::vector<int32_t> Placer::models_for(JobId j) const {
  const std::span<const Task> tasks = s_.jobs.tasks_of(j);
  if (!s_.policy.cheapest || tasks.size() == 1 || book_.gpu_models.in_use() < 2) return {};
  if (!std::ranges::all_of(tasks, [&](const Task& t) { return takes_any_gpu(book_.cluster.request(t.request)); })) return {};
  if (const auto mate = std::ranges::find_if(tasks, &Task::on_node); mate != tasks.end())
    return {book_.gpu_models.of(mate->place.node)};
  std::vector<int32_t> models;
  for (const PriceTiers::Tier& tier : book_.price_tiers.tiers())
    for (const NodeId n : tier.nodes) {
      if (models.size() == book_.gpu_models.in_use()) return models;
      if (std::ranges::find(models, book_.gpu_models.of(n)) == models.end()) models.push_back(book_.gpu_models.of(n));
    }
  return models;
}

/// The first of models_for that takes all tasks of a plain job; kNone = there is no choice, or none does.
int32_t Placer::model_for_all(JobId j) const {
  const std::vector<int32_t> models = models_for(j);
  if (models.size() == 1) return models.front();
  for (const int32_t model : models) {
    NodeBuckets::Counts counts{};
    for (const NodeId n : book_.gpu_models.nodes(model))
      if (const int count = book_.open.buckets().at(n); count != NodeBuckets::kNowhere) ++counts[static_cast<size_t>(count)];
    if (OpenNodes::fits_whole(s_.jobs.shape_of(j), counts)) return model;
  }
  return GpuModels::kNone;
}

/// The cheapest nodes first; among those of one price by the rules.
PickPlace Placer::cheapest_picker() {
  return [this](const Cluster& c, RequestId r, Room room, const Scope& scope) -> std::optional<Place> {
    std::vector<NodeId> both;
    for (const PriceTiers::Tier& tier : book_.price_tiers.tiers()) {
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
NodeId Placer::open_node(int32_t gpus, bool by_price, int32_t model) const {
  if (!by_price && model == GpuModels::kNone) return book_.open.best_fit(gpus);
  const int64_t least = by_price ? book_.price_tiers.tiers().front().nanos_per_hour : INT64_MAX;
  NodeId best;
  book_.open.buckets().for_each_from(gpus, [&](NodeId n) {
    if (model != GpuModels::kNone && book_.gpu_models.of(n) != model) return true;
    if (!best.valid() || book_.gpu_rates[n.index()].per_hour() < book_.gpu_rates[best.index()].per_hour()) best = n;
    return book_.gpu_rates[best.index()].per_hour().count_nanos() > least;  // nothing is cheaper, and fuller ones came before
  });
  return best;
}

PickPlace Placer::picker() {
  return [this](const Cluster& c, RequestId r, Room room, const Scope& scope) { return pick_place(c, r, room, scope); };
}

std::optional<Place> Placer::pick_place(const Cluster& c, RequestId r, Room room, const Scope& scope) {
  const auto shape = placement_shape(c, r);
  if (shape && room == Room::kFree && scope.everywhere) {
    const auto spot = book_.scores.best(c.free(), r, *shape, c.eligible(r));
    std::optional<Place> place = spot ? c.fit(r, spot->node, room) : std::nullopt;
    if (place && !is_promised(c.coming()[spot->node], spot->gpus, shape->milli)) {
      // The scores do not know who shares with whom, nor in which parts a GPU is given out: then every node is looked at.
      const bool in_parts = c.node(spot->node).gpu_parts > 0 && c.request(r).gpus == 0;
      if (!in_parts && c.may_share(r, spot->node, spot->gpus, room))
        place->gpus = spot->gpus;
      else
        place.reset();
    }
    if (place) return place;
  }
  return pick_by_rules(c, r, room, scope, {});
}

void Placer::observe(JobId j) {
  for (const Task& task : s_.jobs.tasks_of(j))
    if (const auto shape = placement_shape(book_.cluster, task.request)) book_.scores.observe(*shape);
}

std::optional<Amounts> Placer::place_in_detail(JobId j) {
  JobRecord& r = s_.jobs[j];
  const std::vector<TaskId> together = s_.jobs.tasks_to_place(j);
  if (together.empty()) return std::nullopt;
  const Amounts wanted = s_.jobs.amounts_of(together);
  const bool limited = s_.queues.limiting(r.queue, wanted, s_.jobs.shape(r.shape).preemptible).valid();
  const bool placed = !limited && place_together(j, together, Room::kFree);
  book_.open.catch_up(book_.cluster);
  if (!placed) return std::nullopt;
  for (const TaskId t : together)
    s_.draft.add_place(book_.cluster.task(t).place);
  r.running += static_cast<int32_t>(together.size());
  return wanted;
}

bool Placer::fits_idle_fleet(JobId j) const {
  const JobTerms& spec = s_.jobs.terms_of(j);
  const Request& request = book_.cluster.request(book_.cluster.task(s_.jobs.first_task(j)).request);
  const Gang* gang = s_.jobs.gang_of(j);
  if ((gang != nullptr && !gang->tasks.empty()) || !book_.cluster.is_plain(book_.cluster.task(s_.jobs.first_task(j)).request) ||
      request.gpu_memory.count() > 0)
    return true;
  int64_t fitting = 0;
  for (uint32_t n = 0; n < book_.cluster.node_count() && fitting < spec.min_tasks; ++n) {
    if (!book_.cluster.is_eligible(book_.cluster.task(s_.jobs.first_task(j)).request, NodeId(n))) continue;
    const NodeSpec& node = book_.cluster.node(NodeId(n));
    int64_t here = node.max_tasks;
    if (request.cpu_milli > 0) here = std::min(here, node.cpu_milli / request.cpu_milli);
    if (request.memory.count() > 0) here = std::min(here, node.memory.count() / request.memory.count());
    if (request.gpus > 0) here = std::min<int64_t>(here, node.gpus / request.gpus);
    if (request.milli > 0) here = std::min<int64_t>(here, int64_t{node.gpus} * (kMilli / request.milli));
    fitting += here;
  }
  return fitting >= spec.min_tasks;
}

Scope Placer::unclaimed(const Scope& scope) {
  if (!book_.open.withholds()) return scope;
  book_.unclaimed.clear();
  scope.for_each(book_.cluster, [&](NodeId n) {
    if (!book_.open.is_closed(n)) book_.unclaimed.push_back(n);
  });
  return {.everywhere = false, .nodes = book_.unclaimed};
}

Amounts Placer::place_tasks(JobId j, int32_t at_most) {
  JobRecord& r = s_.jobs[j];
  const Shape& shape = s_.jobs.shape(r.shape);
  Amounts placed;
  const int32_t model = model_for_all(j);
  for (const int32_t offset : shape.order) {
    if (at_most == 0) break;
    const TaskId t(r.first_task + static_cast<uint32_t>(offset));
    const RequestId request = book_.cluster.task(t).request;
    if (book_.cluster.task(t).state != TaskState::kPending) continue;
    const int32_t gpus = book_.cluster.request(request).gpus;
    const bool by_price = goes_by_price(book_.cluster.request(request));
    NodeId n = open_node(gpus, by_price, model);
    if (!n.valid()) n = open_node(gpus, by_price, GpuModels::kNone);
    if (!n.valid()) continue;
    Place place;
    place.task = t;
    place.node = n;
    place.gpus = OpenNodes::first_gpus(book_.cluster, n, gpus);
    book_.cluster.run(t, place, s_.clock.now);
    book_.open.catch_up(book_.cluster);
    s_.draft.add_place(place);
    add_to(placed, shape.tasks == 1 ? shape.total : book_.cluster.amounts(request));
    ++r.running;
    --at_most;
  }
  return placed;
}

bool Placer::nominate_in_detail(JobId j) {
  const std::vector<TaskId> tasks = s_.jobs.tasks_to_place(j);
  return !tasks.empty() && place_together(j, tasks, Room::kComing);
}

}  // namespace stint::sched
