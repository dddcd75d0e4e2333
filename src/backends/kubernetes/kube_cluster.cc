#include "backends/kubernetes/kube_cluster.h"

#include <algorithm>
#include <utility>

#include "codec/kubernetes/kubernetes_state.h"

namespace stint {
namespace {

constexpr int64_t kThousandths = 1000;  // amounts are in these

int64_t amount_in(const KubernetesResources& resources, std::string_view name) {
  const auto it = resources.find(name);
  return it == resources.end() ? 0 : it->second;
}

int64_t rounded_up(int64_t thousandths) { return thousandths / kThousandths + (thousandths % kThousandths > 0 ? 1 : 0); }

bool takes_the_same_pods(const KubePlacingNode& a, const KubePlacingNode& b) {
  return a.whole_gpus == b.whole_gpus && a.mig_devices == b.mig_devices && a.taints == b.taints &&
         a.node.meta.labels == b.node.meta.labels;
}

std::string key_in(const KubernetesMeta& meta) { return meta.ns + "/" + meta.name; }

bool is_counted_apart(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == "nvidia.com/gpu" || resource == "pods";
}

std::map<std::string, int64_t, std::less<>> others_of(const KubernetesResources& resources, int64_t (*whole)(int64_t)) {
  std::map<std::string, int64_t, std::less<>> others;
  for (const auto& [name, amount] : resources)
    if (amount > 0 && !is_counted_apart(name)) others.emplace(name, whole(amount));
  return others;
}

}  // namespace

std::string_view mig_profile_of_resource(std::string_view resource) {
  constexpr std::string_view kMig = "nvidia.com/mig-";
  return resource.starts_with(kMig) && !resource.ends_with(".shared") ? resource.substr(kMig.size()) : std::string_view();
}

KubeHeld held_by(const KubePlacingPod& pod) {
  return {.gpus = rounded_up(amount_in(pod.requests, "nvidia.com/gpu")),
          .cpu_milli = amount_in(pod.requests, "cpu"),
          .memory = rounded_up(amount_in(pod.requests, "memory")),
          .pods = 1,
          .others = others_of(pod.requests, rounded_up)};
}

KubeHeld room_of(const KubePlacingNode& node) {
  const KubernetesResources& has = node.node.allocatable;
  return {.gpus = amount_in(has, "nvidia.com/gpu") / kThousandths,
          .cpu_milli = amount_in(has, "cpu"),
          .memory = amount_in(has, "memory") / kThousandths,
          .pods = amount_in(has, "pods") / kThousandths,
          .others = others_of(has, [](int64_t thousandths) { return thousandths / kThousandths; })};
}

void add(KubeHeld& sum, const KubeHeld& more) {
  sum.gpus += more.gpus;
  sum.cpu_milli += more.cpu_milli;
  sum.memory += more.memory;
  sum.pods += more.pods;
  for (const auto& [name, amount] : more.others)
    sum.others[name] += amount;
}

void take_away(KubeHeld& sum, const KubeHeld& less) {
  sum.gpus -= less.gpus;
  sum.cpu_milli -= less.cpu_milli;
  sum.memory -= less.memory;
  sum.pods -= less.pods;
  for (const auto& [name, amount] : less.others)
    sum.others[name] -= amount;
}

void KubeCluster::begin_list(const std::string& kind) { listing_[kind].clear(); }

void KubeCluster::take(std::string_view json, const std::string& kind) {
  if (auto object = decoder_.decode(json, kind); object.ok()) keep(std::move(*object));
}

void KubeCluster::end_list(const std::string& kind) {
  const std::set<std::string>& listed = listing_[kind];
  const auto unlisted = [&](const auto& entry) { return !listed.contains(entry.first); };
  if (kind == "Node" && std::erase_if(nodes, unlisted) > 0) ++node_changes;
  if (kind == "Pod") std::erase_if(pods, unlisted);
  if (kind == "PodGroup") std::erase_if(groups, unlisted);
  if (kind == "PersistentVolumeClaim") std::erase_if(claims, unlisted);
  if (kind == "PersistentVolume") std::erase_if(volumes, unlisted);
  if (kind == "StorageClass") std::erase_if(storage_classes, unlisted);
  if (kind == "ResourceClaim") std::erase_if(devices.claims, unlisted);
  if (kind == "ResourceSlice" && std::erase_if(devices.slices, unlisted) > 0) devices_changed();
  if (kind == "DeviceClass" && std::erase_if(devices.classes, unlisted) > 0) devices_changed();
  listing_.erase(kind);
}

void KubeCluster::keep(KubePlacingObject object) {
  if (auto* node = std::get_if<KubePlacingNode>(&object)) {
    note_listed("Node", node->node.meta.name);
    KubePlacingNode& known = nodes[node->node.meta.name];
    if (!takes_the_same_pods(known, *node)) ++node_changes;
    known = std::move(*node);
  } else if (auto* pod = std::get_if<KubePlacingPod>(&object)) {
    const std::string uid = key_of(pod->pod.meta);
    note_listed("Pod", uid);
    if (const auto placed = bound_.find(uid); placed != bound_.end()) {
      if (pod->pod.node.empty()) {  // an older look than ours
        pod->pod.node = placed->second.node;
        pod->annotations = placed->second.annotations;
      } else {
        bound_.erase(placed);
      }
    }
    pods.insert_or_assign(uid, std::move(*pod));
  } else if (const auto* group = std::get_if<KubePodGroup>(&object)) {
    note_listed("PodGroup", key_in(group->meta));
    groups.insert_or_assign(key_in(group->meta), group->min_member);
  } else {
    keep_beside(object);
  }
}

void KubeCluster::keep_beside(const KubePlacingObject& object) {
  if (const auto* claim = std::get_if<KubeVolumeClaim>(&object)) put(claims, *claim, key_in(claim->meta));
  if (const auto* volume = std::get_if<KubeVolume>(&object)) put(volumes, *volume, volume->meta.name);
  if (const auto* kind = std::get_if<KubeStorageClass>(&object)) put(storage_classes, *kind, kind->meta.name);
  if (const auto* claim = std::get_if<KubeDeviceClaim>(&object)) put(devices.claims, *claim, key_in(claim->meta));
  const auto* slice = std::get_if<KubeDeviceSlice>(&object);
  const auto* kind = std::get_if<KubeDeviceClass>(&object);
  if (slice != nullptr) put(devices.slices, *slice, slice->meta.name);
  if (kind != nullptr) put(devices.classes, *kind, kind->meta.name);
  if (slice != nullptr || kind != nullptr) devices_changed();
}

void KubeCluster::devices_changed() {
  ++node_changes;
  slices_read_ = false;
}

void KubeCluster::read_slices() const {
  if (std::exchange(slices_read_, true)) return;
  claimable_.clear();
  const KubeDeviceBook book(devices);
  for (const auto& [name, slice] : devices.slices)
    if (const int64_t gpus = book.gpus_of(slice.node); gpus > 0) claimable_[slice.node] = gpus;
  gpus_ = book.gpus();
}

int64_t KubeCluster::claimable_gpus(const KubePlacingNode& node) const {
  read_slices();
  const auto found = claimable_.find(node.node.meta.name);
  return found == claimable_.end() || node.is_machine() ? 0 : found->second;
}

bool KubeCluster::is_machine(const KubePlacingNode& node) const { return node.is_machine() || claimable_gpus(node) > 0; }

int64_t KubeCluster::claimed_gpus(const KubePlacingPod& pod) const {
  read_slices();
  int64_t gpus = 0;
  for (const std::string& name : pod.pod.claims) {
    const auto claim = devices.claims.find(pod.pod.meta.ns + "/" + name);
    if (claim == devices.claims.end()) continue;
    gpus += std::ranges::count_if(claim->second.allocated, [&](const KubeAllocated& one) { return gpus_.contains(one.device); });
  }
  return gpus;
}

void KubeCluster::claimed(KubeDeviceClaim claim) {
  const auto known = devices.claims.find(key_in(claim.meta));
  if (known != devices.claims.end() && known->second.meta.uid == claim.meta.uid) known->second = std::move(claim);
}

Result<KubernetesEvent> KubeCluster::event(std::string_view line, const std::string& kind) {
  TRY_ASSIGN(KubePlacingEvent event, decoder_.decode_event(line, kind));
  if (!event.object) return std::move(event.event);
  if (event.event.kind != KubernetesEvent::Kind::kDeleted) {
    keep(std::move(*event.object));
    return std::move(event.event);
  }
  if (const auto* node = std::get_if<KubePlacingNode>(&*event.object)) node_changes += nodes.erase(node->node.meta.name);
  if (const auto* group = std::get_if<KubePodGroup>(&*event.object)) groups.erase(key_in(group->meta));
  if (const auto* claim = std::get_if<KubeVolumeClaim>(&*event.object)) claims.erase(key_in(claim->meta));
  if (const auto* claim = std::get_if<KubeDeviceClaim>(&*event.object)) devices.claims.erase(key_in(claim->meta));
  if (const auto* slice = std::get_if<KubeDeviceSlice>(&*event.object)) {
    devices.slices.erase(slice->meta.name);
    devices_changed();
  }
  if (const auto* one = std::get_if<KubeDeviceClass>(&*event.object)) {
    devices.classes.erase(one->meta.name);
    devices_changed();
  }
  if (const auto* volume = std::get_if<KubeVolume>(&*event.object)) volumes.erase(volume->meta.name);
  if (const auto* storage = std::get_if<KubeStorageClass>(&*event.object)) storage_classes.erase(storage->meta.name);
  if (const auto* pod = std::get_if<KubePlacingPod>(&*event.object)) {
    pods.erase(key_of(pod->pod.meta));
    bound_.erase(key_of(pod->pod.meta));
  }
  return std::move(event.event);
}

void KubeCluster::bound(const std::string& uid, const std::string& node, std::vector<Tag> annotations) {
  const auto at = pods.find(uid);
  if (at == pods.end()) return;
  if (at->second.pod.node.empty()) bound_.insert_or_assign(uid, Bound{node, annotations});
  at->second.pod.node = node;
  at->second.annotations = std::move(annotations);
}

std::map<std::string, KubeHeld, std::less<>> KubeCluster::held() const {
  std::map<std::string, KubeHeld, std::less<>> sums;
  for (const auto& [uid, pod] : pods)
    if (!pod.pod.node.empty() && !pod.has_ended()) add(sums[pod.pod.node], held_by(pod));
  return sums;
}

}  // namespace stint
