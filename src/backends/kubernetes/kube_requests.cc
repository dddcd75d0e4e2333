// Source: Kubernetes API reference v1.36, "Binding", "Eviction", "ResourceClaim", "DeleteOptions", "PodCondition", "Event",
// "SelfSubjectAccessReview"; "Dynamic Volume Provisioning"; "API-initiated Eviction".
#include "backends/kubernetes/kube_requests.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

using RequestJson = nlohmann::json;

std::string path_of(const KubePlacingPod& pod) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", pod.pod.meta.ns, pod.pod.meta.name);
}

/// At least one: 0 would take it out of the books before its machine has ended it.
int64_t whole_grace(Duration grace) { return std::max<int64_t>(1, grace.whole_seconds()); }

std::string seconds_text(Instant at) { return format_utc(Instant::from_seconds(at.seconds())); }

}  // namespace

KubeChange bind_request(const KubePlacingPod& pod, std::string_view node, const std::vector<Tag>& annotations) {
  const KubernetesMeta& meta = pod.pod.meta;
  RequestJson body = {{"apiVersion", "v1"},
                      {"kind", "Binding"},
                      {"metadata", {{"name", meta.name}, {"namespace", meta.ns}, {"uid", meta.uid}}},
                      {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  for (const auto& [key, value] : annotations)
    body["metadata"]["annotations"][key] = value;
  return {.method = "POST", .path = path_of(pod) + "/binding", .body = body.dump()};
}

KubeChange evict_request(const KubePlacingPod& pod, Duration grace) {
  const KubernetesMeta& meta = pod.pod.meta;
  const RequestJson body = {
      {"apiVersion", "policy/v1"},
      {"kind", "Eviction"},
      {"metadata", {{"name", meta.name}, {"namespace", meta.ns}}},
      {"deleteOptions", {{"gracePeriodSeconds", whole_grace(grace)}, {"preconditions", {{"uid", meta.uid}}}}}};
  return {.method = "POST", .path = path_of(pod) + "/eviction", .body = body.dump()};
}

KubeChange delete_request(const KubePlacingPod& pod, Duration grace) {
  const RequestJson body = {{"apiVersion", "v1"},
                            {"kind", "DeleteOptions"},
                            {"gracePeriodSeconds", whole_grace(grace)},
                            {"preconditions", {{"uid", pod.pod.meta.uid}}}};
  return {.method = "DELETE", .path = path_of(pod), .body = body.dump()};
}

KubeChange condition_request(const KubePlacingPod& pod, std::string_view reason, std::string_view message, Instant now) {
  RequestJson condition = {{"type", "PodScheduled"}, {"status", "False"}, {"reason", reason}, {"message", message}};
  if (pod.pod.waits_for.empty()) condition["lastTransitionTime"] = seconds_text(now);
  const RequestJson body = {{"metadata", {{"uid", pod.pod.meta.uid}}},
                            {"status", {{"conditions", RequestJson::array({condition})}}}};
  return {.method = "PATCH",
          .path = path_of(pod) + "/status",
          .body = body.dump(),
          .content_type = "application/strategic-merge-patch+json"};
}

KubeChange event_request(const KubePlacingPod& pod, std::string_view reason, std::string_view message, Instant now) {
  const KubernetesMeta& meta = pod.pod.meta;
  const std::string at = seconds_text(now);
  Fnv1a print;
  print.update(fmt::format("{} {} {}", meta.uid, reason, message));
  const RequestJson body = {
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", {{"name", fmt::format("{}.{:016x}", meta.name.substr(0, 200), print.digest())}, {"namespace", meta.ns}}},
      {"involvedObject", {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", meta.name}, {"namespace", meta.ns}, {"uid", meta.uid}}},
      {"type", "Warning"},
      {"reason", "FailedScheduling"},
      {"message", fmt::format("{}: {}", reason, message)},
      {"source", {{"component", "stint"}}},
      {"firstTimestamp", at},
      {"lastTimestamp", at},
      {"count", 1}};
  return {.method = "POST", .path = fmt::format("/api/v1/namespaces/{}/events", meta.ns), .body = body.dump()};
}

KubeChange annotate_request(const KubePlacingPod& pod, std::string_view key, std::string_view value) {
  const RequestJson body = {{"metadata", {{"uid", pod.pod.meta.uid}, {"annotations", {{std::string(key), value}}}}}};
  return {.method = "PATCH", .path = path_of(pod), .body = body.dump(), .content_type = "application/merge-patch+json"};
}

KubeChange choose_node_request(const KubeVolumeClaim& claim, std::string_view node) {
  const RequestJson body = {
      {"metadata", {{"uid", claim.meta.uid}, {"annotations", {{"volume.kubernetes.io/selected-node", node}}}}}};
  return {.method = "PATCH",
          .path = fmt::format("/api/v1/namespaces/{}/persistentvolumeclaims/{}", claim.meta.ns, claim.meta.name),
          .body = body.dump(),
          .content_type = "application/merge-patch+json"};
}

namespace {

std::string path_of(const KubeDeviceClaim& claim) {
  return fmt::format("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims/{}", claim.meta.ns, claim.meta.name);
}

/// As it was read, or not at all.
KubeChange change_of(const KubeDeviceClaim& claim, RequestJson body, std::string_view part) {
  body["metadata"]["uid"] = claim.meta.uid;
  body["metadata"]["resourceVersion"] = claim.version;
  return {.method = "PATCH",
          .path = path_of(claim) + std::string(part),
          .body = body.dump(),
          .content_type = "application/merge-patch+json"};
}

RequestJson list_of(std::string_view text) {
  RequestJson list = RequestJson::parse(text.empty() ? "[]" : text, nullptr, false);
  return list.is_array() ? list : RequestJson::array();
}

}  // namespace

KubeChange keep_claim_request(const KubeDeviceClaim& claim) {
  RequestJson marks = claim.marks;
  marks.push_back(kKubeClaimKept);
  return change_of(claim, {{"metadata", {{"finalizers", std::move(marks)}}}}, "");
}

std::string class_configs(const KubeDeviceClaim& claim, const KubeDeviceState& state) {
  RequestJson all = RequestJson::array();
  for (const KubeDeviceRequest& request : claim.requests) {
    const auto kind = state.classes.find(request.kind);
    if (kind == state.classes.end()) continue;
    for (RequestJson one : list_of(kind->second.config)) {
      one["source"] = "FromClass";
      one["requests"] = RequestJson::array({request.name});
      all.push_back(std::move(one));
    }
  }
  return all.dump();
}

KubeChange reserve_request(const KubeDeviceClaim& claim, const std::vector<KubeAllocated>& devices, std::string_view configs,
                           const KubePlacingPod& pod, std::string_view node) {
  RequestJson users = list_of(claim.users);
  users.push_back({{"resource", "pods"}, {"name", pod.pod.meta.name}, {"uid", pod.pod.meta.uid}});
  RequestJson status = {{"reservedFor", std::move(users)}};
  if (!claim.is_allocated) {
    RequestJson results = RequestJson::array(), all = list_of(configs);
    for (const KubeAllocated& one : devices)
      results.push_back(
          {{"request", one.request}, {"driver", one.device.driver}, {"pool", one.device.pool}, {"device", one.device.device}});
    for (RequestJson one : list_of(claim.config)) {
      one["source"] = "FromClaim";
      all.push_back(std::move(one));
    }
    RequestJson is_node = {{"key", "metadata.name"}, {"operator", "In"}, {"values", RequestJson::array({node})}};
    status["allocation"] = {
        {"devices", {{"results", std::move(results)}, {"config", std::move(all)}}},
        {"nodeSelector", {{"nodeSelectorTerms", RequestJson::array({{{"matchFields", RequestJson::array({is_node})}}})}}}};
  }
  return change_of(claim, {{"status", std::move(status)}}, "/status");
}

KubeChange release_request(const KubeDeviceClaim& claim, const KubePlacingPod& pod, bool devices_too) {
  RequestJson users = RequestJson::array();
  for (const RequestJson& one : list_of(claim.users))
    if (one.value("uid", "") != pod.pod.meta.uid) users.push_back(one);
  RequestJson status = {{"reservedFor", users.empty() ? RequestJson() : std::move(users)}};
  if (devices_too) status["allocation"] = nullptr;
  return change_of(claim, {{"status", std::move(status)}}, "/status");
}

KubeChange may_request(std::string_view verb, std::string_view group, std::string_view resource) {
  const RequestJson body = {{"apiVersion", "authorization.k8s.io/v1"},
                            {"kind", "SelfSubjectAccessReview"},
                            {"spec", {{"resourceAttributes", {{"verb", verb}, {"group", group}, {"resource", resource}}}}}};
  return {.method = "POST", .path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", .body = body.dump()};
}

}  // namespace stint
