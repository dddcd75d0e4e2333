#include "codec/kubernetes/kubernetes_gpus.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/providers/provider.h"
#include "codec/slurm/tres.h"
#include "model/mig.h"

namespace stint {
namespace {

constexpr std::string_view kNvidiaGpu = "nvidia.com/gpu";
constexpr std::string_view kNvidiaShared = "nvidia.com/gpu.shared";
constexpr std::string_view kNvidiaMig = "nvidia.com/mig-";
constexpr std::string_view kHamiCores = "nvidia.com/gpucores";
constexpr std::string_view kHamiMemory = "nvidia.com/gpumem";
constexpr std::string_view kHamiMemoryPercent = "nvidia.com/gpumem-percentage";
constexpr std::array<std::string_view, 6> kWholeGpuNames = {kNvidiaGpu,           kNvidiaShared,      "amd.com/gpu",
                                                            "gpu.intel.com/i915", "gpu.intel.com/xe", "nvidia.com/pgpu"};
constexpr std::array<std::string_view, 8> kOtherAccelerators = {
    "google.com/tpu",  "aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "aws.amazon.com/neurondevice",
    "habana.ai/gaudi", "qualcomm.com/qaic",     "huawei.com/Ascend910",      "cambricon.com/mlu"};
constexpr int64_t kMostReplicas = 1000;
constexpr int64_t kMostGpusOfMachine = 1024;

int64_t amount_of(const KubernetesResources& resources, std::string_view name) {
  const auto it = resources.find(name);
  return it == resources.end() ? 0 : it->second;
}

int64_t label_number(const KubernetesMeta& meta, std::string_view key, int64_t least, int64_t most) {
  const auto value = parse_int(meta.label(key));
  return value && *value >= least && *value <= most ? *value : 0;
}

std::string_view first_label(const KubernetesMeta& meta, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const std::string_view value = meta.label(key); !value.empty()) return value;
  return {};
}

bool is_whole_gpu(std::string_view name) { return std::ranges::find(kWholeGpuNames, name) != kWholeGpuNames.end(); }

int64_t divided_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

/// `GPU-UUID,10,81920,100,NVIDIA-NVIDIA H100,0,true:…`, and JSON in later versions: one UUID a GPU.
int64_t gpus_in_hami_register(std::string_view text) {
  int64_t count = 0;
  for (size_t at = text.find("GPU-"); at != std::string_view::npos; at = text.find("GPU-", at + 4))
    ++count;
  return std::min(count, kMostGpusOfMachine);
}

/// Of the resource's name; "" = it is no MIG instance.
std::string_view mig_profile_of(std::string_view resource) {
  if (!resource.starts_with(kNvidiaMig)) return {};
  resource.remove_prefix(kNvidiaMig.size());
  constexpr std::string_view kShared = ".shared";
  if (resource.ends_with(kShared)) resource.remove_suffix(kShared.size());
  return resource;
}

/// Of one resource: an instance, or one of the replicas that it is offered as.
std::optional<GpuShare> share_of_mig_resource(const KubernetesGpus* node, std::string_view profile) {
  const auto share = share_of_mig(node == nullptr ? "" : node->model, profile);
  if (!share || node == nullptr) return share;
  const auto replicas = node->mig_replicas.find(profile);
  return replicas == node->mig_replicas.end() ? share : GpuShare::of(share->parts(), share->total() * replicas->second);
}

/// How many such instances one GPU of that model is cut into.
int64_t instances_per_gpu(std::string_view model, std::string_view profile) {
  const GpuFacts* facts = Catalog::built_in().find_gpu(model);
  const MigGeometry* geometry = facts == nullptr ? nullptr : find_mig_geometry(facts->model);
  const MigProfile* known = geometry == nullptr ? nullptr : geometry->find_profile(profile);
  return known == nullptr ? 0 : known->max_count;
}

/// `milli` thousandths of GPUs: one or more of them, the same share of each.
KubernetesHold hold_of_milli(int64_t milli) {
  KubernetesHold out;
  out.count = divided_up(milli, GpuShare::kMilliPerGpu);
  if (milli % GpuShare::kMilliPerGpu != 0) out.share = GpuShare::of(milli, out.count * GpuShare::kMilliPerGpu);
  return out;
}

/// HAMi: so many GPUs, a part of each one's cores or, where only memory is asked for, of its memory.
std::optional<GpuShare> share_under_hami(const KubernetesResources& requests, int64_t gpus, const KubernetesGpus* node) {
  if (gpus <= 0) return std::nullopt;
  const auto percent = [](int64_t milli) { return GpuShare::of(std::min<int64_t>(milli / 1000, 100), 100); };
  if (const int64_t cores = amount_of(requests, kHamiCores); cores > 0) return percent(cores);
  if (const int64_t part = amount_of(requests, kHamiMemoryPercent); part > 0) return percent(part);
  const int64_t mebibytes = amount_of(requests, kHamiMemory) / 1000;
  if (mebibytes <= 0 || node == nullptr || node->memory == Bytes()) return std::nullopt;
  const int64_t all = node->memory.count() >> 20;
  return GpuShare::of(std::min(mebibytes, all), all);
}

/// The larger of both, resource by resource.
void take_largest(KubernetesResources& into, const KubernetesResources& other) {
  for (const auto& [name, amount] : other)
    into[name] = std::max(into[name], amount);
}

void add_all(KubernetesResources& into, const KubernetesResources& other) {
  for (const auto& [name, amount] : other)
    if (int64_t& sum = into[name]; __builtin_add_overflow(sum, amount, &sum)) sum = INT64_MAX;
}

std::string_view path_part(std::string_view text, size_t index) {
  const auto parts = split(text, '/');
  return index < parts.size() ? parts[index] : std::string_view();
}

Market market_of(const KubernetesMeta& meta) {
  const auto is = [&](std::string_view key, std::string_view value) { return equals_ignoring_case(meta.label(key), value); };
  if (is("karpenter.sh/capacity-type", "spot") || is("eks.amazonaws.com/capacityType", "SPOT") ||
      is("cloud.google.com/gke-spot", "true") || is("cloud.google.com/gke-preemptible", "true") ||
      is("kubernetes.azure.com/scalesetpriority", "spot") || is("node.kubernetes.io/lifecycle", "spot") ||
      is("cloud.google.com/gke-provisioning", "spot"))
    return Market::kSpot;
  if (is("karpenter.sh/capacity-type", "reserved") || is("eks.amazonaws.com/capacityType", "CAPACITY_BLOCK"))
    return Market::kReserved;
  if (is("karpenter.sh/capacity-type", "on-demand") || is("eks.amazonaws.com/capacityType", "ON_DEMAND") ||
      is("kubernetes.azure.com/scalesetpriority", "regular") || is("cloud.google.com/gke-provisioning", "standard") ||
      is("node.kubernetes.io/lifecycle", "normal"))
    return Market::kOnDemand;
  return Market::kUnknown;
}

}  // namespace

bool is_gpu_resource(std::string_view name) { return is_whole_gpu(name) || name.starts_with(kNvidiaMig); }

bool is_other_accelerator(std::string_view name) {
  return std::ranges::find(kOtherAccelerators, name) != kOtherAccelerators.end();
}

std::optional<GpuShare> share_of_mig(std::string_view model, std::string_view profile) {
  const GpuFacts* facts = Catalog::built_in().find_gpu(model);
  const MigGeometry* geometry = facts == nullptr ? nullptr : find_mig_geometry(facts->model);
  if (geometry != nullptr)
    if (const MigProfile* known = geometry->find_profile(profile)) return geometry->share_of(*known);
  return mig_share(profile);
}

KubernetesGpus gpus_of(const KubernetesNode& node) {
  KubernetesGpus out;
  std::string_view product =
      first_label(node.meta, {"nvidia.com/gpu.product", "amd.com/gpu.product-name", "karpenter.k8s.aws/instance-gpu-name",
                              "cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator"});
  if (product.ends_with("-SHARED")) product.remove_suffix(7);
  if (const size_t mig = product.find("-MIG-"); mig != std::string_view::npos) {
    out.mig_profile = product.substr(mig + 5);
    product = product.substr(0, mig);
  }
  out.model = product;

  int64_t whole = 0, instances = 0;
  for (const auto& [name, amount] : node.capacity) {
    if (!is_gpu_resource(name)) continue;
    if (const std::string_view profile = mig_profile_of(name); !profile.empty())
      if (const int64_t n = label_number(node.meta, fmt::format("nvidia.com/mig-{}.replicas", profile), 2, kMostReplicas); n > 0)
        out.mig_replicas.emplace(profile, n);
    (is_whole_gpu(name) ? whole : instances) += std::min(amount, kMostGpusOfMachine * kMostReplicas * 1000) / 1000;
    out.milli_offered += std::min(amount, kMostGpusOfMachine * kMostReplicas * 1000);
  }
  out.replicas = std::max<int64_t>(1, label_number(node.meta, "nvidia.com/gpu.replicas", 1, kMostReplicas));
  const int64_t hami = gpus_in_hami_register(node.gpu_register);
  const int64_t labelled = label_number(node.meta, "nvidia.com/gpu.count", 1, kMostGpusOfMachine);
  if (out.mig_profile.empty()) out.memory = Bytes::mebi(label_number(node.meta, "nvidia.com/gpu.memory", 1, int64_t{1} << 30));

  const std::string_view strategy = node.meta.label("nvidia.com/gpu.sharing-strategy");
  if (hami > 0) {
    out.count = hami;
    out.replicas = std::clamp<int64_t>(whole / hami, 1, kMostReplicas);
    out.sharing = "HAMi";
  } else if (!out.mig_profile.empty()) {
    // Strategy single: every nvidia.com/gpu is an instance, and the labels count instances.
    const int64_t per_gpu = instances_per_gpu(out.model, out.mig_profile);
    const int64_t all = whole > 0 ? divided_up(whole, out.replicas) : labelled;
    if (per_gpu > 0) out.count = divided_up(all, per_gpu);
    out.sharing = "MIG " + out.mig_profile;
  } else {
    out.count = labelled > 0 ? labelled : divided_up(whole, out.replicas);
    if (out.replicas > 1) out.sharing = strategy.empty() || strategy == "none" ? "time-slicing" : strategy;
    if (instances > 0) out.sharing = "MIG";
  }
  if (const int64_t said = label_number(node.meta, "karpenter.k8s.aws/instance-gpu-count", 1, kMostGpusOfMachine); said > 0)
    out.count = said;
  out.has_gpus = out.milli_offered > 0 || out.count > 0;
  return out;
}

KubernetesResources requests_of(const KubernetesPod& pod) {
  KubernetesResources together;
  for (const KubernetesContainer& container : pod.containers)
    add_all(together, container.requests);
  // Sidecars start in order before the other init containers end, and stay.
  KubernetesResources sidecars, largest;
  for (const KubernetesContainer& container : pod.init_containers) {
    if (container.sidecar) {
      add_all(sidecars, container.requests);
      continue;
    }
    KubernetesResources beside = sidecars;
    add_all(beside, container.requests);
    take_largest(largest, beside);
  }
  add_all(together, sidecars);
  take_largest(together, largest);
  return together;
}

KubernetesHold hold_of(const KubernetesPod& pod, const KubernetesGpus* node) {
  const KubernetesResources requests = requests_of(pod);
  KubernetesHold out;
  int64_t whole = 0, instances = 0;
  std::optional<GpuShare> instance;
  bool one_profile = true;
  for (const auto& [name, amount] : requests) {
    const int64_t count = std::min(amount / 1000, kMostGpusOfMachine * kMostReplicas);
    if (count == 0) continue;
    if (is_whole_gpu(name)) whole += count;
    if (!name.starts_with(kNvidiaMig)) continue;
    const auto share = share_of_mig_resource(node, mig_profile_of(name));
    one_profile &= instances == 0 || instance == share;
    instances += count;
    instance = share;
  }
  if (instances > 0) {
    out.count = instances + whole;
    if (one_profile && whole == 0) out.share = instance;
  } else if (const auto fraction = parse_number(pod.gpu_fraction); whole == 0 && fraction && *fraction > 0 && *fraction <= 1) {
    out = hold_of_milli(static_cast<int64_t>(*fraction * 1000 + 0.5));
  } else if (whole > 0 && node != nullptr && !node->mig_profile.empty()) {
    out.count = whole;
    out.share = share_of_mig(node->model, node->mig_profile);
  } else if (const auto part = share_under_hami(requests, whole, node)) {
    out.count = whole;
    if (*part < GpuShare::whole()) out.share = part;
  } else if (whole > 0 && node != nullptr && node->replicas > 1) {
    out.count = divided_up(whole, node->replicas);
    if (whole % node->replicas != 0) out.share = GpuShare::of(whole, out.count * node->replicas);
  } else {
    out.count = whole;
  }
  for (const KubernetesContainer& container : pod.containers) {
    const bool asks =
        std::ranges::any_of(container.requests, [](const auto& r) { return is_gpu_resource(r.first) && r.second > 0; });
    if (!asks) continue;
    if (!out.container.empty()) {
      out.container.clear();
      break;
    }
    out.container = container.name;
  }
  return out;
}

void read_place(const KubernetesNode& node, Node& out) {
  const std::string_view id = node.provider_id;
  if (id.starts_with("aws://")) {
    out.provider = "aws";
    out.resource_id = id.substr(id.rfind('/') + 1);
  } else if (id.starts_with("gce://")) {
    out.provider = "gcp";
    out.resource_id = id.substr(id.rfind('/') + 1);
  } else if (id.starts_with("azure://")) {
    out.provider = "azure";
    out.resource_id = id.substr(8);
  } else if (id.find("://") != std::string_view::npos && !id.starts_with("kwok://") && !id.starts_with("kind://")) {
    out.provider = id.substr(0, id.find("://"));
    out.resource_id = id.substr(id.rfind('/') + 1);
  }
  out.instance_type = first_label(node.meta, {"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"});
  out.region = first_label(node.meta, {"topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"});
  out.zone = first_label(node.meta, {"topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"});
  if (out.zone.empty() && (out.provider == "aws" || out.provider == "gcp")) out.zone = path_part(id, 3);
  if (out.region.empty()) out.region = provider_of(out.provider).region_of_zone(out.zone);
  out.market = market_of(node.meta);
}

}  // namespace stint
