#include "sched/place/fragmentation.h"

#include <algorithm>
#include <bit>

namespace stint::sched {
namespace {

template <typename T>
void sort_distinct(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// How many of the ascending `steps` are at most `value`.
size_t rank_among(const std::vector<int64_t>& steps, int64_t value) {
  return static_cast<size_t>(std::upper_bound(steps.begin(), steps.end(), value) - steps.begin());
}

}  // namespace

std::vector<ShapeCount> typical_shapes(std::span<const ShapeCount> mix, int coverage_pct) {
  std::vector<ShapeCount> shapes(mix.begin(), mix.end());
  for (ShapeCount& s : shapes) {
    s.shape.memory_bytes = 0;
    if (!s.shape.wants_gpu()) s.shape.models = kAnyModel;
  }
  std::sort(shapes.begin(), shapes.end(), [](const ShapeCount& a, const ShapeCount& b) { return a.shape < b.shape; });
  size_t distinct = 0;
  int64_t total = 0;
  for (const ShapeCount& s : shapes) {
    total += s.count;
    if (distinct > 0 && shapes[distinct - 1].shape == s.shape) {
      shapes[distinct - 1].count += s.count;
    } else {
      shapes[distinct++] = s;
    }
  }
  shapes.resize(distinct);
  std::sort(shapes.begin(), shapes.end(),
            [](const ShapeCount& a, const ShapeCount& b) { return a.count != b.count ? a.count > b.count : a.shape > b.shape; });
  int64_t covered = 0;
  size_t taken = 0;
  while (taken < shapes.size() && covered * 100 < total * coverage_pct)
    covered += shapes[taken++].count;
  shapes.resize(taken);
  return shapes;
}

Fragmentation::Fragmentation(std::span<const ShapeCount> typical) {
  models_ = models_told_apart(typical);
  std::vector<int64_t> shares;
  for (const ShapeCount& t : typical) {
    requests_ += t.count;
    if (!t.shape.wants_gpu()) continue;
    cpu_steps_.push_back(t.shape.cpu_milli);
    if (t.shape.milli > 0) shares.push_back(t.shape.milli);
  }
  sort_distinct(cpu_steps_);
  sort_distinct(shares);
  fractions_ = shares.size() + 1;
  milli_rank_.resize(kMilli + 1);
  for (int32_t idle = 0; idle <= kMilli; ++idle)
    milli_rank_[static_cast<size_t>(idle)] = static_cast<uint16_t>(rank_among(shares, idle));

  const size_t views = models_ * (cpu_steps_.size() + 1);
  whole_.resize(views * (kMaxGpusPerNode + 1));
  fraction_.resize(views * fractions_);
  for (size_t v = 0; v < views; ++v) {
    const size_t model = v / (cpu_steps_.size() + 1);
    const size_t cpu_rank = v % (cpu_steps_.size() + 1);
    for (const ShapeCount& t : typical) {
      if (!t.shape.wants_gpu() || rank_among(cpu_steps_, t.shape.cpu_milli) > cpu_rank) continue;
      if (!runs_on(t.shape, model, models_)) continue;
      for (size_t idle = static_cast<size_t>(t.shape.gpus); t.shape.gpus > 0 && idle <= kMaxGpusPerNode; ++idle)
        whole_[v * (kMaxGpusPerNode + 1) + idle] += t.count;
      for (size_t r = rank_among(shares, t.shape.milli); t.shape.milli > 0 && r < fractions_; ++r)
        fraction_[v * fractions_ + r] += t.count;
    }
  }
}

Fragmentation::View Fragmentation::view(int16_t model, int64_t cpu_free) const {
  const size_t m = std::min(static_cast<size_t>(model), models_ - 1);
  const size_t v = m * (cpu_steps_.size() + 1) + rank_among(cpu_steps_, cpu_free);
  return {.whole = &whole_[v * (kMaxGpusPerNode + 1)], .fraction = &fraction_[v * fractions_]};
}

int64_t Fragmentation::usable(const View& v, int32_t idle_milli) const {
  return idle_milli * v.fraction[milli_rank_[static_cast<size_t>(idle_milli)]];
}

int64_t Fragmentation::usable(const View& v, const NodeRecord& node) const {
  int64_t sum = int64_t{node.whole_free} * kMilli * v.whole[node.whole_free];
  for (size_t g = 0; g < static_cast<size_t>(node.gpus); ++g)
    sum += usable(v, node.gpu_free[g]);
  return sum;
}

int64_t Fragmentation::of(const NodeRecord& node) const {
  if (requests_ == 0 || node.model < 0) return 0;
  return node.milli_free * requests_ - usable(view(node.model, node.cpu_free), node);
}

int64_t Fragmentation::gain(const NodeRecord& node, const PlacementShape& shape, uint64_t gpus) const {
  if (requests_ == 0 || node.model < 0) return 0;
  NodeRecord after = node;
  after.cpu_free -= shape.cpu_milli;
  after.milli_free -= shape.gpu_milli();
  const int32_t taken = shape.milli > 0 ? shape.milli : kMilli;
  for (uint64_t left = gpus; left != 0; left &= left - 1) {
    int16_t& idle = after.gpu_free[static_cast<size_t>(std::countr_zero(left))];
    if (idle == kMilli) --after.whole_free;
    idle = static_cast<int16_t>(idle - taken);
  }
  return of(node) - of(after);
}

int64_t Fragmentation::gains(const NodeRecord& node, const PlacementShape& shape,
                             std::array<int64_t, kMaxGpusPerNode>& by_gpu) const {
  // One GPU differs from before; the CPU is less for all of them.
  const View after = view(node.model, node.cpu_free - shape.cpu_milli);
  const int64_t before = usable(view(node.model, node.cpu_free), node);
  const int64_t others = usable(after, node);
  const int64_t whole = node.whole_free * after.whole[node.whole_free];
  int64_t best = kImpossible;
  for (size_t g = 0; g < static_cast<size_t>(node.gpus); ++g) {
    const int32_t idle = node.gpu_free[g];
    by_gpu[g] = kImpossible;
    if (idle < shape.milli) continue;
    int64_t usable_after = others - usable(after, idle) + usable(after, idle - shape.milli);
    if (idle == kMilli) usable_after += kMilli * ((node.whole_free - 1) * after.whole[node.whole_free - 1] - whole);
    by_gpu[g] = shape.milli * requests_ - before + usable_after;
    best = std::max(best, by_gpu[g]);
  }
  return best;
}

}  // namespace stint::sched
