#include "sim/packing_replay.h"

#include <algorithm>
#include <map>

namespace stint::sim {
namespace {

using sched::PlacementShape;
using sched::RequestId;

constexpr size_t kMaxModels = 63;  // one bit more says "a model no node has"

/// Mean of what is allocated over the arrivals at one whole per cent of demand.
class LevelMean {
 public:
  explicit LevelMean(int64_t level_pct) : level_pct_(level_pct) {}
  void add(int64_t demand_milli, int64_t allocated_milli, int64_t gpus) {
    // |demand − level| < ½ %, in half milli of one per cent of the fleet: gpus · 10 milli are 1 %.
    if (std::abs(2 * (demand_milli - level_pct_ * gpus * 10)) > gpus * 10) return;
    sum_pct_ += static_cast<double>(allocated_milli) / static_cast<double>(gpus * 10);
    ++count_;
  }
  [[nodiscard]] std::optional<double> mean() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_pct_ / static_cast<double>(count_));
  }

 private:
  int64_t level_pct_;
  double sum_pct_ = 0;
  int64_t count_ = 0;
};

double fragmentation_pct(const sched::NodeTable& nodes, std::span<const sched::ShapeCount> mix) {
  const sched::Fragmentation fragmentation(sched::typical_shapes(mix));
  double fragments = 0;
  double idle = 0;
  for (const sched::NodeRecord& node : nodes.all()) {
    fragments += static_cast<double>(fragmentation.of(node));
    idle += static_cast<double>(node.milli_free) * static_cast<double>(fragmentation.requests());
  }
  return idle == 0 ? 0 : 100 * fragments / idle;
}

}  // namespace

Result<PackingTrace> PackingTrace::create(std::vector<PodTraceNode> nodes, std::span<const PodTracePod> pods) {
  std::stable_sort(nodes.begin(), nodes.end(), [](const PodTraceNode& a, const PodTraceNode& b) { return a.name < b.name; });
  PackingTrace trace;
  std::map<std::string, int16_t> models;
  for (const PodTraceNode& node : nodes) {
    sched::NodeRecord record{.cpu_milli = node.cpu_milli,
                             .cpu_free = node.cpu_milli,
                             .memory_bytes = node.memory.count(),
                             .memory_free = node.memory.count(),
                             .gpus = static_cast<int16_t>(node.gpus),
                             .whole_free = static_cast<int16_t>(node.gpus),
                             .milli_free = node.gpus * sched::kMilli,
                             .tasks_free = INT32_MAX};
    std::fill_n(record.gpu_free.begin(), node.gpus, int16_t{sched::kMilli});
    if (node.gpus > 0) record.model = models.try_emplace(node.gpu_model, static_cast<int16_t>(models.size())).first->second;
    trace.nodes_.add(record);
    trace.gpus_ += node.gpus;
  }
  if (trace.gpus_ == 0) return invalid("the nodes have no GPUs");
  if (models.size() > kMaxModels) return invalid("{} models of GPU, at most {} can be told apart", models.size(), kMaxModels);

  std::map<PlacementShape, RequestId> requests;
  for (const PodTracePod& pod : pods) {
    PlacementShape shape{.cpu_milli = pod.cpu_milli, .memory_bytes = pod.memory.count()};
    if (pod.gpu_milli == sched::kMilli)
      shape.gpus = static_cast<int16_t>(pod.gpus);
    else
      shape.milli = static_cast<int16_t>(pod.gpu_milli);
    if (!pod.gpu_models.empty()) {
      shape.models = 0;
      for (const std::string& model : pod.gpu_models)
        if (const auto known = models.find(model); known != models.end()) shape.models |= uint64_t{1} << known->second;
    }
    const RequestId next(static_cast<uint32_t>(trace.mix_.size()));
    const auto [it, added] = requests.try_emplace(shape, next);
    if (added) trace.mix_.push_back({.shape = shape, .count = 0});
    ++trace.mix_[it->second.index()].count;
    trace.request_of_pod_.push_back(it->second);
  }
  return trace;
}

PackingResult replay_packing(const PackingTrace& trace, std::span<const uint32_t> arrivals, sched::Placement policy,
                             uint64_t seed) {
  sched::NodeTable nodes = trace.nodes();
  sched::PlacementIndex index(policy, seed);
  index.expect(trace.mix());
  PackingResult result;
  LevelMean at_100(100);
  LevelMean at_120(120);
  LevelMean at_130(130);
  int64_t demand_milli = 0;
  int64_t allocated_milli = 0;
  for (const uint32_t pod : arrivals) {
    const RequestId request = trace.request_of(pod);
    const PlacementShape& shape = trace.shape(request);
    demand_milli += shape.gpu_milli();
    if (const auto spot = index.best(nodes, request, shape)) {
      nodes.take(spot->node,
                 {.gpus = spot->gpus, .milli = shape.milli, .cpu_milli = shape.cpu_milli, .memory_bytes = shape.memory_bytes});
      allocated_milli += shape.gpu_milli();
      ++result.placed;
    }
    for (LevelMean* level : {&at_100, &at_120, &at_130})
      level->add(demand_milli, allocated_milli, trace.gpus());
  }
  result.pods = static_cast<int64_t>(arrivals.size());
  result.failed = result.pods - result.placed;
  result.allocated_pct_100 = at_100.mean();
  result.allocated_pct_120 = at_120.mean();
  result.allocated_pct_130 = at_130.mean();
  result.fragmentation_pct_of_idle = fragmentation_pct(nodes, trace.mix());
  return result;
}

}  // namespace stint::sim
