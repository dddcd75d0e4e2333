#include "codec/kubernetes/kubernetes_snapshot.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/counted.h"
#include "base/text.h"
#include "codec/kubernetes/kubernetes_owner.h"

namespace stint {
namespace {

constexpr size_t kMostNamedOnce = 10;  ///< in one note
constexpr int64_t kMostDevicesOfNode = 1024;

struct KindOfOwner {
  std::string_view owner;
  WorkloadKind kind;
};
constexpr std::array<KindOfOwner, 15> kKindsOfOwners = {{{"Notebook", WorkloadKind::kNotebook},
                                                         {"InferenceService", WorkloadKind::kRealtimeInference},
                                                         {"LLMInferenceService", WorkloadKind::kRealtimeInference},
                                                         {"SeldonDeployment", WorkloadKind::kRealtimeInference},
                                                         {"RayService", WorkloadKind::kRealtimeInference},
                                                         {"DynamoGraphDeployment", WorkloadKind::kRealtimeInference},
                                                         {"PodCliqueSet", WorkloadKind::kRealtimeInference},
                                                         {"PyTorchJob", WorkloadKind::kTraining},
                                                         {"TFJob", WorkloadKind::kTraining},
                                                         {"MPIJob", WorkloadKind::kTraining},
                                                         {"XGBoostJob", WorkloadKind::kTraining},
                                                         {"PaddleJob", WorkloadKind::kTraining},
                                                         {"JAXJob", WorkloadKind::kTraining},
                                                         {"MXJob", WorkloadKind::kTraining},
                                                         {"TrainJob", WorkloadKind::kTraining}}};
/// They run until somebody ends them: whoever runs one serves.
constexpr std::array<std::string_view, 6> kServiceOwners = {"Deployment",      "ReplicaSet", "StatefulSet",
                                                            "LeaderWorkerSet", "Rollout",    "ReplicationController"};

WorkloadKind kind_of_pod(const KubernetesPod& pod, const KubernetesReference& owner) {
  const auto* const known = std::ranges::find(kKindsOfOwners, owner.kind, &KindOfOwner::owner);
  if (known != kKindsOfOwners.end() && known->kind != WorkloadKind::kTraining) return known->kind;
  std::vector<std::string_view> texts = {owner.name, pod.meta.name};
  for (const KubernetesContainer& container : pod.containers) {
    texts.push_back(container.name);
    texts.push_back(container.image);
  }
  texts.push_back(pod.meta.ns);
  for (const std::string_view text : texts)
    if (const WorkloadKind kind = guess_workload_kind(text); kind != WorkloadKind::kUnknown) return kind;
  if (known != kKindsOfOwners.end()) return known->kind;
  return std::ranges::find(kServiceOwners, owner.kind) != kServiceOwners.end() ? WorkloadKind::kRealtimeInference
                                                                               : WorkloadKind::kUnknown;
}

RunState state_of_pod(const KubernetesPod& pod) {
  if (pod.gone && (pod.phase == "Pending" || pod.phase == "Running"))
    return pod.disruption.empty() ? RunState::kCancelled : RunState::kPreempted;
  if (pod.phase == "Pending") return RunState::kPending;
  if (pod.phase == "Running") return RunState::kRunning;
  if (pod.phase == "Succeeded") return RunState::kCompleted;
  if (pod.phase != "Failed") return RunState::kUnknown;
  if (pod.disruption == "DeletionByTaintManager" || pod.disruption == "DeletionByPodGC" || pod.reason == "NodeLost" ||
      pod.reason == "Terminated" || pod.reason == "NodeShutdown")
    return RunState::kNodeFail;
  if (!pod.disruption.empty() || pod.reason == "Evicted" || pod.reason == "Preempting") return RunState::kPreempted;
  return pod.reason == "DeadlineExceeded" ? RunState::kTimeout : RunState::kFailed;
}

int64_t request_of(const KubernetesResources& requests, std::string_view name) {
  const auto it = requests.find(name);
  return it == requests.end() ? 0 : it->second;
}

/// "a 3, b 1 and 4 more"
std::string named_counts(const std::map<std::string, int64_t>& counts) {
  std::string out;
  size_t named = 0;
  for (const auto& [name, count] : counts) {
    if (named == kMostNamedOnce) return out + fmt::format(" and {} more", counts.size() - named);
    out += fmt::format("{}{} {}", named++ == 0 ? "" : ", ", excerpt(name), count);
  }
  return out;
}

/// Of the device, else of its name: `gpu-3`, `gpu-3-mig-1g10gb-0-1`.
std::optional<int> index_of_device(const KubernetesDevice& device) {
  if (device.index) return static_cast<int>(*device.index);
  constexpr std::string_view kPrefix = "gpu-";
  if (!device.name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view rest = std::string_view(device.name).substr(kPrefix.size());
  const auto index = parse_int(rest.substr(0, rest.find('-')));
  if (!index || *index < 0 || *index >= kMostDevicesOfNode) return std::nullopt;
  return static_cast<int>(*index);
}

bool is_gpu_device(const KubernetesSlice& slice, const KubernetesDevice& device) {
  return device.is_gpu.value_or(slice.driver.starts_with("gpu."));
}

}  // namespace

void KubernetesSnapshot::read_slices() {
  std::map<std::pair<std::string, std::string>, int64_t> newest;  // by driver and pool
  for (const auto& [key, slice] : state_.slices) {
    int64_t& generation = newest.try_emplace({slice.driver, slice.pool}, slice.generation).first->second;
    generation = std::max(generation, slice.generation);
  }
  for (const auto& [key, slice] : state_.slices) {
    if (slice.generation != newest.at({slice.driver, slice.pool})) continue;
    for (const KubernetesDevice& device : slice.devices)
      if (is_gpu_device(slice, device))
        devices_.insert_or_assign({slice.driver, slice.pool, device.name}, PoolDevice{slice.node, device});
  }
}

void KubernetesSnapshot::give_nodes(Sink& sink) {
  std::map<std::string, int64_t> claimable;  // whole GPUs of DRA, by node
  std::map<std::string, std::string> products;
  for (const auto& [place, of_pool] : devices_) {
    if (!of_pool.device.mig_profile.empty() || !of_pool.device.parent_uuid.empty()) continue;
    ++claimable[of_pool.node];
    products.try_emplace(of_pool.node, of_pool.device.product);
  }
  for (const auto& [name, kubernetes] : state_.nodes) {
    KubernetesGpus& gpus = gpus_[name] = gpus_of(kubernetes);
    if (const auto it = claimable.find(name); it != claimable.end()) {
      gpus.has_gpus = true;
      if (gpus.count == 0) gpus.count = it->second;
      if (gpus.model.empty()) gpus.model = products[name];
    }
    Node node;
    node.name = name;
    read_place(kubernetes, node);
    node.gpu_model = gpus.model;
    node.gpu_count = gpus.count;
    node.vcpus = request_of(kubernetes.capacity, "cpu") / 1000;
    node.memory = Bytes::of(request_of(kubernetes.capacity, "memory") / 1000);
    node.present_from = kubernetes.meta.created;
    node.present_until = kubernetes.gone;
    sink.node(node);
    for (const auto& [resource, amount] : kubernetes.capacity)
      if (is_other_accelerator(resource) && amount > 0) ++accelerators_[resource];
  }
  give_node_doubts(sink);
}

void KubernetesSnapshot::give_node_doubts(Sink& sink) const {
  int64_t not_ready = 0;
  std::map<std::string, int64_t> sharing, fewer;
  for (const auto& [name, gpus] : gpus_) {
    if (!gpus.has_gpus) continue;
    const KubernetesNode& node = state_.nodes.at(name);
    not_ready += node.ready == false ? 1 : 0;
    if (!gpus.sharing.empty()) ++sharing[gpus.sharing];
    if (gpus.count == 0)
      sink.reject(0,
                  fmt::format("node {}: it offers {} of a GPU that the catalogue does not know, so how many GPUs it has is not "
                              "told: give gpu_model and gpu_count with `stint import inventory`",
                              excerpt(name), gpus.sharing.empty() ? "parts" : gpus.sharing));
    for (const auto& [resource, amount] : node.capacity)
      if (is_gpu_resource(resource) && request_of(node.allocatable, resource) < amount)
        fewer[name] += (amount - request_of(node.allocatable, resource)) / 1000;
  }
  if (!sharing.empty()) sink.note(fmt::format("machines whose GPUs are shared: {}", named_counts(sharing)));
  if (not_ready > 0) sink.note(fmt::format("{} with GPUs not ready", counted(static_cast<uint64_t>(not_ready), "machine")));
  if (!fewer.empty()) sink.note(fmt::format("GPUs that exist but cannot be given out: {}", named_counts(fewer)));
}

Tenant KubernetesSnapshot::tenant_of_pod(const KubernetesPod& pod) const {
  const auto it = state_.namespace_labels.find(pod.meta.ns);
  static const std::vector<Tag> kNone;
  const std::vector<Tag>& of_namespace = it == state_.namespace_labels.end() ? kNone : it->second;
  Tenant out = merged(tenant_from_tags(pod.meta.labels), tenant_from_tags(of_namespace));
  // Who pays is the operator's to say, not the pod's; and the workload is what owns the pod.
  out.client.clear();
  out.workload.clear();
  if (options_.client_label.empty()) return out;
  out.client = pod.meta.label(options_.client_label);
  for (const Tag& tag : of_namespace)
    if (out.client.empty() && tag.first == options_.client_label) out.client = tag.second;
  return out;
}

void KubernetesSnapshot::read_times(const KubernetesPod& pod, Run& run) const {
  run.submitted = pod.meta.created;
  run.time_limit = pod.time_limit;
  if (pod.node.empty()) return;
  // Its GPUs are given to it when it is bound, before its images are there.
  run.started = pod.scheduled ? pod.scheduled : pod.started ? pod.started : pod.meta.created;
  if (!run.started) return;
  run.ended = pod.ended;
  const bool over = pod.gone || pod.phase == "Succeeded" || pod.phase == "Failed";
  if (over && !run.ended) run.ended = run.started;
  if (!over && options_.at) run.ended = *options_.at;
  if (run.ended) run.ended = std::max(*run.ended, *run.started);
}

bool KubernetesSnapshot::hold_claims(const KubernetesPod& pod, Run& run) {
  RunAllocation held{.node = pod.node, .gpu_indexes = {}, .gpu_count = 0};
  int64_t instances = 0;
  bool all_indexed = true;
  std::optional<GpuShare> share;
  for (const std::string& name : pod.claims) {
    const auto claim = state_.claims.find({pod.meta.ns, name});
    if (claim == state_.claims.end()) {
      ++claims_not_there_;
      continue;
    }
    for (const KubernetesClaim::Result& result : claim->second.allocated) {
      const auto found = devices_.find(result);
      if (found == devices_.end()) {
        claims_not_there_ += result.driver.starts_with("gpu.") ? 1 : 0;
        continue;
      }
      const KubernetesDevice& device = found->second.device;
      ++held.gpu_count;
      if (!device.mig_profile.empty()) {
        const auto of_instance = share_of_mig(device.product, device.mig_profile);
        if (instances++ > 0 && of_instance != share)
          share.reset();
        else
          share = of_instance;
      }
      if (const auto index = index_of_device(device))
        held.gpu_indexes.push_back(*index);
      else
        all_indexed = false;
    }
  }
  if (held.gpu_count == 0) return false;
  if (!all_indexed) held.gpu_indexes.clear();
  run.gpus_requested += held.gpu_count;
  if (instances == held.gpu_count) run.share = share;
  run.allocations.push_back(std::move(held));
  return true;
}

std::optional<Run> KubernetesSnapshot::run_of_pod(const KubernetesPod& pod) {
  const auto node = gpus_.find(pod.node);
  const KubernetesHold hold = hold_of(pod, node == gpus_.end() ? nullptr : &node->second);
  const KubernetesReference owner = top_owner(state_, pod);
  Run run;
  run.id = key_of(pod.meta);
  run.name = owner.name;
  run.holder.ns = pod.meta.ns;
  run.holder.pod = pod.meta.name;
  run.holder.container = hold.container;
  run.tenant = tenant_of_pod(pod);
  run.kind = kind_of_pod(pod, owner);
  run.state = state_of_pod(pod);
  read_times(pod, run);
  const KubernetesResources requests = requests_of(pod);
  run.cpus = (request_of(requests, "cpu") + 999) / 1000;
  run.memory = Bytes::of(request_of(requests, "memory") / 1000);
  run.gpus_requested = hold.count;
  run.share = hold.share;
  if (run.started && hold.count > 0) run.allocations.push_back({.node = pod.node, .gpu_indexes = {}, .gpu_count = hold.count});
  const bool claimed = hold_claims(pod, run);
  if (hold.count == 0 && !claimed) return std::nullopt;
  if (!run.started) run.allocations.clear();
  if (run.started && node == gpus_.end()) ++pods_elsewhere_;
  return run;
}

void KubernetesSnapshot::give_pods(Sink& sink) {
  for (const auto& [key, pod] : state_.pods) {
    const auto run = run_of_pod(pod);
    if (!run) {
      ++pods_without_gpus_;
      continue;
    }
    if (run->state == RunState::kRunning || (run->state == RunState::kPending && run->started))
      for (const RunAllocation& held : run->allocations)
        ++pods_on_[held.node];
    if (run->state == RunState::kUnknown)
      sink.reject(0, fmt::format("pod {}/{}: phase '{}' is none of Pending, Running, Succeeded, Failed", excerpt(pod.meta.ns),
                                 excerpt(pod.meta.name), excerpt(pod.phase)));
    else
      give_run(pod, *run, sink);
  }
}

void KubernetesSnapshot::give_run(const KubernetesPod& pod, const Run& run, Sink& sink) const {
  sink.run(run);
  RunOwner owner{.run_id = run.id, .restart = run.restart, .kind = top_owner(state_, pod).kind, .labels = pod.meta.labels};
  std::ranges::sort(owner.labels);
  sink.run_owner(owner);
}

void KubernetesSnapshot::give_quotas(Sink& sink) const {
  std::vector<std::string> said;
  for (const auto& [key, quota] : state_.quotas)
    for (const auto& [resource, limit] : quota.hard) {
      constexpr std::string_view kRequests = "requests.";
      if (!resource.starts_with(kRequests) || !is_gpu_resource(std::string_view(resource).substr(kRequests.size()))) continue;
      said.push_back(fmt::format("{} {} of {} {}", excerpt(quota.meta.ns), request_of(quota.used, resource) / 1000, limit / 1000,
                                 excerpt(resource.substr(kRequests.size()))));
    }
  if (said.empty()) return;
  std::ranges::sort(said);
  const size_t more = said.size() > kMostNamedOnce ? said.size() - kMostNamedOnce : 0;
  said.resize(said.size() - more);
  sink.note(fmt::format("GPU quotas used: {}{}", fmt::join(said, ", "), more == 0 ? "" : fmt::format(" and {} more", more)));
}

void KubernetesSnapshot::give_counts(Sink& sink) const {
  const auto pods = [](int64_t count) { return counted(static_cast<uint64_t>(count), "pod"); };
  if (pods_without_gpus_ > 0) sink.note(fmt::format("{} without GPUs left out", pods(pods_without_gpus_)));
  if (pods_elsewhere_ > 0)
    sink.note(fmt::format("{} on machines that are not in the input: give nodes too, as `kubectl get nodes,pods … -o json` does",
                          pods(pods_elsewhere_)));
  if (claims_not_there_ > 0)
    sink.note(fmt::format("{} of pods whose devices are not in the input: give resourceclaims and resourceslices too",
                          counted(static_cast<uint64_t>(claims_not_there_), "device claim")));
  if (!accelerators_.empty())
    sink.note(fmt::format("accelerators that are no GPUs, by machines: {}", named_counts(accelerators_)));
  if (!state_.other_kinds.empty())
    sink.note(fmt::format("objects of other kinds left out: {}", named_counts(state_.other_kinds)));
}

/// A machine is paid for whole: GPUs that no pod holds cost as much, and pods without GPUs keep it from being ended.
void KubernetesSnapshot::give_idle_machines(Sink& sink) const {
  std::map<std::string, std::set<std::string>> kept_by;  // by node: what runs there without GPUs, and is not on every machine
  for (const auto& [key, pod] : state_.other_pods)
    if (!pod.node.empty() && pod.owner_kind != "DaemonSet" && pod.owner_kind != "Node")
      kept_by[pod.node].insert(pod.ns + '/' + pod.owner);
  int64_t idle = 0, idle_gpus = 0, kept = 0;
  std::map<std::string, int64_t> keepers;
  for (const auto& [name, gpus] : gpus_) {
    if (!gpus.has_gpus || pods_on_.contains(name) || state_.nodes.at(name).gone) continue;
    ++idle;
    idle_gpus += gpus.count;
    const auto by = kept_by.find(name);
    if (by == kept_by.end()) continue;
    ++kept;
    for (const std::string& owner : by->second)
      ++keepers[owner];
  }
  if (idle > 0)
    sink.note(fmt::format("{} with {} without a pod that holds one", counted(idle, "machine"), counted(idle_gpus, "GPU")));
  if (kept > 0) sink.note(fmt::format("{} of them kept by pods without GPUs, by machines: {}", kept, named_counts(keepers)));
}

void KubernetesSnapshot::give_warnings(Sink& sink) const {
  std::map<std::string, int64_t> by_reason;
  for (const auto& [key, pod] : state_.pods)
    if (const auto of_pod = state_.warnings.find({pod.meta.ns, pod.meta.name}); of_pod != state_.warnings.end())
      for (const auto& [reason, count] : of_pod->second)
        ++by_reason[reason];
  if (!by_reason.empty()) sink.note(fmt::format("pods with GPUs that Kubernetes warns of: {}", named_counts(by_reason)));
}

void KubernetesSnapshot::give(Sink& sink) {
  read_slices();
  pods_without_gpus_ = static_cast<int64_t>(state_.other_pods.size());
  give_nodes(sink);
  give_pods(sink);
  give_quotas(sink);
  give_idle_machines(sink);
  give_warnings(sink);
  give_counts(sink);
  for (const std::string& reason : state_.refused)
    sink.reject(0, reason);
  for (uint64_t more = state_.refused.size(); more < state_.refused_count; ++more)
    sink.reject(0, "an object that could not be understood, like those before");
}

}  // namespace stint
