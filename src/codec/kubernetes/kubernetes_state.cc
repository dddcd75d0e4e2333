#include "codec/kubernetes/kubernetes_state.h"

#include <algorithm>

#include "codec/kubernetes/kubernetes_gpus.h"

namespace stint {
namespace {

constexpr size_t kMostPodsWithWarnings = 100'000;

const KubernetesMeta& meta_of_object(const KubernetesObject& object) {
  return std::visit([](const auto& one) -> const KubernetesMeta& { return one.meta; }, object);
}

/// Erases what was not listed. @param key  of an entry, as the list has it.
template <typename Map, typename Key>
void erase_unlisted(Map& map, const std::set<std::string>& listed, const Key& key) {
  std::erase_if(map, [&](const auto& entry) { return !listed.contains(key(entry)); });
}

}  // namespace

std::string key_of(const KubernetesMeta& meta) { return meta.uid.empty() ? meta.ns + '/' + meta.name : meta.uid; }

void KubernetesState::read(std::string_view json, const std::string& kind, uint64_t number) {
  auto object = decoder_.decode(json, kind);
  if (object.ok())
    add(std::move(*object));
  else
    refuse(number == 0 ? object.error().message : fmt::format("object {}: {}", number, object.error().message));
}

void KubernetesState::refuse(std::string reason) {
  ++contents_.refused_count;
  if (contents_.refused.size() < KubernetesContents::kMostRefused) contents_.refused.push_back(std::move(reason));
}

void KubernetesState::add(KubernetesObject object) {
  const KubernetesMeta& meta = meta_of_object(object);
  if (const auto listing = listing_.find(meta.kind); listing != listing_.end()) listing->second.insert(key_of(meta));
  std::visit([this](auto& one) { keep(std::move(one)); }, object);
}

void KubernetesState::remember(const KubernetesMeta& meta) {
  if (meta.uid.empty() || !meta.owner) return;
  contents_.owned.insert_or_assign(meta.uid, KubernetesContents::Owned{meta.kind, *meta.owner});
}

void KubernetesState::keep(KubernetesNode node) { contents_.nodes.insert_or_assign(node.meta.name, std::move(node)); }
void KubernetesState::keep(KubernetesOwner owner) { remember(owner.meta); }
void KubernetesState::keep(KubernetesNamespace ns) {
  contents_.namespace_labels.insert_or_assign(ns.meta.name, std::move(ns.meta.labels));
}
void KubernetesState::keep(KubernetesQuota quota) { contents_.quotas.insert_or_assign(key_of(quota.meta), std::move(quota)); }
void KubernetesState::keep(KubernetesSlice slice) { contents_.slices.insert_or_assign(key_of(slice.meta), std::move(slice)); }
void KubernetesState::keep(KubernetesOther other) { ++contents_.other_kinds[other.meta.kind]; }
void KubernetesState::keep(KubernetesClaim claim) {
  contents_.claims.insert_or_assign(std::pair(claim.meta.ns, claim.meta.name), std::move(claim));
}

void KubernetesState::keep(KubernetesWarning warning) {
  const auto pod = std::pair(warning.meta.ns, warning.pod);
  if (contents_.warnings.size() >= kMostPodsWithWarnings && !contents_.warnings.contains(pod)) return;
  int64_t& count = contents_.warnings[pod][warning.reason];
  count = std::max(count, warning.count);
}

void KubernetesState::keep(KubernetesPod pod) {
  const std::string key = key_of(pod.meta);
  if (hold_of(pod, nullptr).count > 0 || !pod.claims.empty()) {
    remember(pod.meta);
    contents_.pods.insert_or_assign(key, std::move(pod));
    return;
  }
  // A Spark driver owns its executors, the leader of a group its workers. The pods of these kinds own nothing.
  const std::string_view by = pod.meta.owner ? std::string_view(pod.meta.owner->kind) : std::string_view();
  if (by != "ReplicaSet" && by != "DaemonSet" && by != "Job") remember(pod.meta);
  const bool runs = pod.phase == "Running" || (pod.phase == "Pending" && !pod.node.empty());
  const KubernetesReference owner = pod.meta.owner.value_or(KubernetesReference{"Pod", pod.meta.name, ""});
  contents_.other_pods.insert_or_assign(
      key, KubernetesContents::OtherPod{runs ? std::move(pod.node) : "", std::move(pod.meta.ns), owner.kind, owner.name});
}

Result<KubernetesEvent> KubernetesState::event(std::string_view line, const std::string& kind, Instant at) {
  TRY_ASSIGN(KubernetesEvent event, decoder_.decode_event(line, kind));
  if (!event.message.empty() && event.kind != KubernetesEvent::Kind::kError) refuse(event.message);
  if (!event.object) return event;
  const KubernetesMeta meta = meta_of_object(*event.object);
  add(std::move(*event.object));
  event.object.reset();
  if (event.kind == KubernetesEvent::Kind::kDeleted) remove(meta, at);
  return event;
}

void KubernetesState::pod_is_gone(const std::string& key, Instant at) {
  if (contents_.other_pods.erase(key) > 0) contents_.owned.erase(key);
  const auto pod = contents_.pods.find(key);
  if (pod == contents_.pods.end() || pod->second.gone) return;
  pod->second.gone = true;
  if (pod->second.phase != "Succeeded" && pod->second.phase != "Failed") pod->second.ended = at;
}

void KubernetesState::remove(const KubernetesMeta& meta, Instant at) {
  const std::string key = key_of(meta);
  if (meta.kind == "Pod") pod_is_gone(key, at);
  if (meta.kind == "Node")
    if (const auto node = contents_.nodes.find(meta.name); node != contents_.nodes.end()) node->second.gone = at;
  if (meta.kind == "Namespace") contents_.namespace_labels.erase(meta.name);
  if (meta.kind == "ResourceQuota") contents_.quotas.erase(key);
  if (meta.kind == "ResourceSlice") contents_.slices.erase(key);
  if (meta.kind == "ResourceClaim") contents_.claims.erase({meta.ns, meta.name});
  if (meta.kind == "Event") return;
  if (meta.kind != "Pod") contents_.owned.erase(meta.uid);
}

void KubernetesState::begin_list(const std::string& kind) {
  listing_[kind].clear();
  if (kind == "Event") contents_.warnings.clear();
}

void KubernetesState::end_list(const std::string& kind, Instant at) {
  const auto found = listing_.extract(kind);
  if (found.empty()) return;
  const std::set<std::string>& listed = found.mapped();
  const auto by_meta = [](const auto& entry) { return key_of(entry.second.meta); };
  const auto by_key = [](const auto& entry) { return entry.first; };
  if (kind == "Pod") {
    for (const auto& [key, pod] : contents_.pods)
      if (!listed.contains(key)) pod_is_gone(key, at);
    erase_unlisted(contents_.other_pods, listed, by_key);
  } else if (kind == "Node") {
    for (auto& [name, node] : contents_.nodes)
      if (!listed.contains(key_of(node.meta)) && !node.gone) node.gone = at;
  } else if (kind == "ResourceQuota") {
    erase_unlisted(contents_.quotas, listed, by_key);
  } else if (kind == "ResourceSlice") {
    erase_unlisted(contents_.slices, listed, by_key);
  } else if (kind == "ResourceClaim") {
    erase_unlisted(contents_.claims, listed, by_meta);
  }
  std::erase_if(contents_.owned, [&](const auto& entry) { return entry.second.kind == kind && !listed.contains(entry.first); });
}

void KubernetesState::forget_gone() {
  std::erase_if(contents_.pods, [&](const auto& entry) {
    if (!entry.second.gone) return false;
    contents_.owned.erase(entry.first);
    contents_.warnings.erase({entry.second.meta.ns, entry.second.meta.name});
    return true;
  });
  std::erase_if(contents_.nodes, [](const auto& entry) { return entry.second.gone.has_value(); });
  contents_.refused.clear();
  contents_.refused_count = 0;
}

}  // namespace stint
