#include "sched/shape.h"

#include <algorithm>
#include <numeric>

namespace stint::sched {
namespace {

bool only_whole_gpus(const Request& r) {
  return r.gpus > 0 && r.milli == 0 && r.gpu_memory.count() == 0 && r.mig.empty() && r.cpu_milli == 0 && r.memory.count() == 0 &&
         r.gpu_models.empty() && r.node_labels.empty() && !r.only_allowed_nodes && r.labels.empty() && r.affinity.empty() &&
         r.anti_affinity.empty();
}

bool free_of_topology(const Gang& gang) {
  return gang.groups.empty() && gang.topology.required_level.empty() && gang.topology.preferred_level.empty();
}

}  // namespace

GangId ShapeTable::intern(const Gang& gang) {
  const auto known = std::find(gangs_.begin(), gangs_.end(), gang);
  if (known == gangs_.end()) {
    gangs_.push_back(gang);
    return GangId(static_cast<uint32_t>(gangs_.size() - 1));
  }
  return GangId(static_cast<uint32_t>(known - gangs_.begin()));
}

ShapeId ShapeTable::intern(const JobSpec& job, const Cluster& cluster) {
  const Key key{job.request.index(), job.gang.index(), job.tasks, job.min_tasks, job.preemptible};
  if (last_.valid() && key == last_key_) return last_;
  const auto [it, added] = ids_.try_emplace(key, ShapeId(static_cast<uint32_t>(shapes_.size())));
  if (added) shapes_.push_back(make(job, cluster));
  last_key_ = key;
  last_ = it->second;
  return last_;
}

RequestId ShapeTable::request_of(const Shape& shape, int32_t task) const {
  const Gang* g = gang(shape.gang);
  return g == nullptr || g->tasks.empty() ? shape.request : g->tasks[static_cast<size_t>(task)].request;
}

Shape ShapeTable::make(const JobSpec& job, const Cluster& cluster) const {
  Shape shape;
  shape.request = job.request;
  shape.gang = job.gang;
  shape.tasks = job.tasks;
  shape.min_tasks = job.min_tasks;
  shape.preemptible = job.preemptible;
  const Gang* g = gang(job.gang);
  shape.plain = counting_ && (g == nullptr || free_of_topology(*g));
  std::vector<int32_t> sizes;
  for (int32_t t = 0; t < job.tasks; ++t) {
    const Request& r = cluster.request(request_of(shape, t));
    shape.plain = shape.plain && only_whole_gpus(r);
    add_to(shape.total, cluster.amounts(request_of(shape, t)));
    sizes.push_back(r.gpus);
  }
  if (!shape.plain) return shape;
  shape.order.resize(sizes.size());
  std::iota(shape.order.begin(), shape.order.end(), 0);
  std::stable_sort(shape.order.begin(), shape.order.end(),
                   [&](int32_t a, int32_t b) { return sizes[static_cast<size_t>(a)] > sizes[static_cast<size_t>(b)]; });
  for (const int32_t t : shape.order) {
    const int32_t gpus = sizes[static_cast<size_t>(t)];
    if (shape.parts.empty() || shape.parts.back().gpus != gpus) shape.parts.push_back({.gpus = gpus, .tasks = 0});
    ++shape.parts.back().tasks;
  }
  return shape;
}

}  // namespace stint::sched
