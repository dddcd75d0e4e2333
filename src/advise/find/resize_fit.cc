#include "advise/find/resize_fit.h"

#include <algorithm>

#include "advise/share/gpu_packing.h"
#include "advise/share/share_fit.h"

namespace stint {
namespace {

std::optional<double> ratio(const std::optional<double>& to, const std::optional<double>& from) {
  return to && from && *from > 0 ? std::optional(*to / *from) : std::nullopt;
}

Bytes with_margin(Bytes peak) { return Bytes::of(static_cast<int64_t>(static_cast<double>(peak.count()) * kResizeMemoryMargin)); }

std::optional<double> sheet_arithmetic(const GpuFacts& to, const GpuFacts& from) {
  auto arithmetic = ratio(to.bf16_tflops, from.bf16_tflops);
  if (!arithmetic) arithmetic = ratio(to.fp16_tflops, from.fp16_tflops);
  if (!arithmetic) arithmetic = ratio(to.fp32_tflops, from.fp32_tflops);
  return arithmetic;
}

}  // namespace

std::optional<ResizeNeed> resize_need(const NodeFacts& node, const Catalog& catalog) {
  if (!node.mean_pct || !node.memory_peak) return std::nullopt;
  ResizeNeed need;
  for (const NodeHour& hour : node.timeline)
    need.gpus = std::max<int64_t>(need.gpus, hour.used_gpus);
  for (const GpuLoad& gpu : node.gpus)
    need.p95_pct = std::max(need.p95_pct, gpu.busy_p95_pct.value_or(0));
  need.memory = with_margin(*node.memory_peak);
  for (const GpuLoad& gpu : node.gpus)
    for (const InstanceLoad& instance : gpu.instances)
      need.instances.push_back({with_margin(instance.memory_peak.value_or(Bytes())), instance.busy_p95 * kShareComputeMargin});
  if (need.instances.size() < 2) need.instances.clear();  // alone it is apart on a whole GPU
  // What the CPUs do is rarely measured; half of the present share per GPU is the least that is offered.
  const double present = static_cast<double>(node.vcpus);
  const double share = static_cast<double>(need.gpus) / static_cast<double>(std::max<int64_t>(1, node.gpu_count));
  need.vcpus = static_cast<int64_t>(node.host_cpu_pct ? present * *node.host_cpu_pct / 100 : present * share / 2);
  const InstanceType* now = catalog.find_instance(node.provider, node.instance_type);
  need.arch = now == nullptr ? "x86_64" : now->arch;
  return need;
}

ResizeNeed harder_of(const ResizeNeed& a, const ResizeNeed& b) {
  return {std::max(a.gpus, b.gpus),
          std::max(a.p95_pct, b.p95_pct),
          std::max(a.memory, b.memory),
          std::max(a.vcpus, b.vcpus),
          a.arch,
          a.instances.size() >= b.instances.size() ? a.instances : b.instances};
}

std::optional<RelativeThroughput> relative_throughput(const GpuFacts& to, const GpuFacts& from) {
  if (to.model == from.model) return RelativeThroughput{1, 1, "the same GPU"};
  const auto measured_arithmetic = ratio(to.measured.half_tflops, from.measured.half_tflops);
  const auto measured_memory = ratio(to.measured.memory_gb_s, from.measured.memory_gb_s);
  const auto arithmetic = measured_arithmetic ? measured_arithmetic : sheet_arithmetic(to, from);
  if (!arithmetic || to.memory_bandwidth_gb_s <= 0 || from.memory_bandwidth_gb_s <= 0) return std::nullopt;
  const double memory = measured_memory.value_or(to.memory_bandwidth_gb_s / from.memory_bandwidth_gb_s);
  const int measured = (measured_arithmetic ? 1 : 0) + (measured_memory ? 1 : 0);
  return RelativeThroughput{std::min(*arithmetic, memory), std::max(*arithmetic, memory),
                            measured == 2   ? "measured"
                            : measured == 1 ? "partly measured"
                                            : "estimated"};
}

std::optional<std::string> resize_misfit(const InstanceType& type, const ResizeNeed& need) {
  if (type.gpu_milli < need.gpus * 1000) return fmt::format("{} of {} GPUs in use at once", type.whole_gpus(), need.gpus);
  if (type.gpu_memory < need.memory)
    return fmt::format("{:.0f} GiB a GPU, {:.1f} needed", type.gpu_memory.to_gibi(), need.memory.to_gibi());
  if (type.vcpus < need.vcpus) return fmt::format("{} CPUs, {} needed", type.vcpus, need.vcpus);
  if (type.arch != need.arch) return fmt::format("{} machines, programs are for {}", type.arch, need.arch);
  return std::nullopt;
}

std::optional<std::string> slices_misfit(const InstanceType& type, const ResizeNeed& need, double throughput) {
  if (need.instances.empty()) return std::nullopt;
  const MigGeometry* geometry = find_mig_geometry(type.gpu_model);
  if (geometry == nullptr) return fmt::format("no MIG: the {} instances in use would no longer be apart", need.instances.size());
  std::vector<int> profiles;
  for (const InstanceNeed& instance : need.instances) {
    const auto profile = smallest_profile(*geometry, instance.memory, instance.compute / throughput);
    if (!profile)
      return fmt::format("no MIG instance of it holds {:.1f} GiB and {:.2f} of its compute", instance.memory.to_gibi(),
                         instance.compute / throughput);
    profiles.push_back(*profile);
  }
  const auto gpus = std::ssize(pack_mig(*geometry, profiles));
  if (gpus <= type.whole_gpus()) return std::nullopt;
  MigLayout wanted;
  for (const int profile : profiles)
    wanted.push_back({0, profile});
  return fmt::format("the MIG instances in use would be {} there: {} GPUs, not {}", describe(*geometry, wanted), gpus,
                     type.whole_gpus());
}

}  // namespace stint
