#include "sched/place/cpu_reach.h"

#include <algorithm>

namespace stint::sched {

CpuReach::CpuReach(std::span<const ShapeCount> mix) {
  std::vector<ShapeCount> shapes;
  for (const ShapeCount& s : mix)
    if (s.shape.wants_gpu() && s.count > 0) shapes.push_back(s);
  std::sort(shapes.begin(), shapes.end(), [](const ShapeCount& a, const ShapeCount& b) {
    const int64_t left = a.shape.cpu_milli * b.shape.gpu_milli();
    const int64_t right = b.shape.cpu_milli * a.shape.gpu_milli();
    return left != right ? left < right : a.shape < b.shape;
  });
  const size_t models = models_told_apart(mix);
  steps_.resize(models);
  for (size_t m = 0; m < models; ++m) {
    int64_t cpu = 0;
    int64_t gpu = 0;
    for (const ShapeCount& s : shapes) {
      if (!runs_on(s.shape, m, models)) continue;
      cpu += s.count * s.shape.cpu_milli;
      gpu += s.count * s.shape.gpu_milli();
      steps_[m].push_back(
          {.cpu_milli = cpu, .gpu_milli = gpu, .shape_cpu_milli = s.shape.cpu_milli, .shape_gpu_milli = s.shape.gpu_milli()});
    }
  }
}

const std::vector<CpuReach::Step>& CpuReach::steps_of(int16_t model) const {
  return steps_[std::min(static_cast<size_t>(model), steps_.size() - 1)];
}

int64_t CpuReach::worth(int16_t model, int64_t idle_cpu_milli, int64_t idle_gpu_milli) const {
  if (model < 0 || idle_gpu_milli == 0) return 0;
  if (steps_.empty()) return idle_gpu_milli;
  const std::vector<Step>& steps = steps_of(model);
  if (steps.empty()) return 0;
  // The mix is scaled to the idle GPU: a step needs idle_gpu · its CPU / all GPU. Products stay below 2^127.
  __extension__ typedef __int128 Wide;
  const int64_t all_gpu = steps.back().gpu_milli;
  const Wide has = Wide{idle_cpu_milli} * all_gpu;
  const auto lacking =
      std::partition_point(steps.begin(), steps.end(), [&](const Step& s) { return Wide{s.cpu_milli} * idle_gpu_milli <= has; });
  if (lacking == steps.end()) return idle_gpu_milli;
  const Step before = lacking == steps.begin() ? Step{} : *(lacking - 1);
  // Whole steps, and of the first that lacks CPU the part that what is left of the CPU feeds.
  const Wide left = has - Wide{before.cpu_milli} * idle_gpu_milli;
  return static_cast<int64_t>(
      (Wide{before.gpu_milli} * idle_gpu_milli + left * lacking->shape_gpu_milli / lacking->shape_cpu_milli) / all_gpu);
}

}  // namespace stint::sched
