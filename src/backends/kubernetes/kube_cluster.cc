#include "backends/kubernetes/kube_cluster.h"

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
  return a.whole_gpus == b.whole_gpus && a.taints == b.taints && a.node.meta.labels == b.node.meta.labels;
}

std::string group_key(const KubernetesMeta& meta) { return meta.ns + "/" + meta.name; }

}  // namespace

KubeHeld held_by(const KubePlacingPod& pod) {
  return {.gpus = rounded_up(amount_in(pod.requests, "nvidia.com/gpu")),
          .cpu_milli = amount_in(pod.requests, "cpu"),
          .memory = rounded_up(amount_in(pod.requests, "memory")),
          .pods = 1};
}

KubeHeld room_of(const KubePlacingNode& node) {
  const KubernetesResources& has = node.node.allocatable;
  return {.gpus = amount_in(has, "nvidia.com/gpu") / kThousandths,
          .cpu_milli = amount_in(has, "cpu"),
          .memory = amount_in(has, "memory") / kThousandths,
          .pods = amount_in(has, "pods") / kThousandths};
}

void add(KubeHeld& sum, const KubeHeld& more) {
  sum.gpus += more.gpus;
  sum.cpu_milli += more.cpu_milli;
  sum.memory += more.memory;
  sum.pods += more.pods;
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
  listing_.erase(kind);
}

void KubeCluster::keep(KubePlacingObject object) {
  if (auto* node = std::get_if<KubePlacingNode>(&object)) {
    if (const auto listing = listing_.find("Node"); listing != listing_.end()) listing->second.insert(node->node.meta.name);
    KubePlacingNode& known = nodes[node->node.meta.name];
    if (!takes_the_same_pods(known, *node)) ++node_changes;
    known = std::move(*node);
  } else if (auto* pod = std::get_if<KubePlacingPod>(&object)) {
    const std::string uid = key_of(pod->pod.meta);
    if (const auto listing = listing_.find("Pod"); listing != listing_.end()) listing->second.insert(uid);
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
    if (const auto listing = listing_.find("PodGroup"); listing != listing_.end()) listing->second.insert(group_key(group->meta));
    groups.insert_or_assign(group_key(group->meta), group->min_member);
  }
}

Result<KubernetesEvent> KubeCluster::event(std::string_view line, const std::string& kind) {
  TRY_ASSIGN(KubePlacingEvent event, decoder_.decode_event(line, kind));
  if (!event.object) return std::move(event.event);
  if (event.event.kind != KubernetesEvent::Kind::kDeleted) {
    keep(std::move(*event.object));
    return std::move(event.event);
  }
  if (const auto* node = std::get_if<KubePlacingNode>(&*event.object)) node_changes += nodes.erase(node->node.meta.name);
  if (const auto* group = std::get_if<KubePodGroup>(&*event.object)) groups.erase(group_key(group->meta));
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
