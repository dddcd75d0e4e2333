// Source: Kubernetes API reference v1.36, "Binding", "Eviction", "DeleteOptions", "PodCondition", "Event"; "API-initiated Eviction".
#include "backends/kubernetes/kube_requests.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

using Json = nlohmann::json;

std::string path_of(const KubePlacingPod& pod) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", pod.pod.meta.ns, pod.pod.meta.name);
}

/// At least one: 0 would take it out of the books before its machine has ended it.
int64_t whole_grace(Duration grace) { return std::max<int64_t>(1, grace.whole_seconds()); }

std::string seconds_text(Instant at) { return format_utc(Instant::from_seconds(at.seconds())); }

}  // namespace

KubeChange bind_request(const KubePlacingPod& pod, std::string_view node, const std::vector<Tag>& annotations) {
  const KubernetesMeta& meta = pod.pod.meta;
  Json body = {{"apiVersion", "v1"},
               {"kind", "Binding"},
               {"metadata", {{"name", meta.name}, {"namespace", meta.ns}, {"uid", meta.uid}}},
               {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  for (const auto& [key, value] : annotations)
    body["metadata"]["annotations"][key] = value;
  return {.method = "POST", .path = path_of(pod) + "/binding", .body = body.dump()};
}

KubeChange evict_request(const KubePlacingPod& pod, Duration grace) {
  const KubernetesMeta& meta = pod.pod.meta;
  const Json body = {{"apiVersion", "policy/v1"},
                     {"kind", "Eviction"},
                     {"metadata", {{"name", meta.name}, {"namespace", meta.ns}}},
                     {"deleteOptions", {{"gracePeriodSeconds", whole_grace(grace)}, {"preconditions", {{"uid", meta.uid}}}}}};
  return {.method = "POST", .path = path_of(pod) + "/eviction", .body = body.dump()};
}

KubeChange delete_request(const KubePlacingPod& pod, Duration grace) {
  const Json body = {{"apiVersion", "v1"},
                     {"kind", "DeleteOptions"},
                     {"gracePeriodSeconds", whole_grace(grace)},
                     {"preconditions", {{"uid", pod.pod.meta.uid}}}};
  return {.method = "DELETE", .path = path_of(pod), .body = body.dump()};
}

KubeChange condition_request(const KubePlacingPod& pod, std::string_view reason, std::string_view message, Instant now) {
  Json condition = {{"type", "PodScheduled"}, {"status", "False"}, {"reason", reason}, {"message", message}};
  if (pod.pod.waits_for.empty()) condition["lastTransitionTime"] = seconds_text(now);
  const Json body = {{"metadata", {{"uid", pod.pod.meta.uid}}}, {"status", {{"conditions", Json::array({condition})}}}};
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
  const Json body = {
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
  const Json body = {{"metadata", {{"uid", pod.pod.meta.uid}, {"annotations", {{std::string(key), value}}}}}};
  return {.method = "PATCH", .path = path_of(pod), .body = body.dump(), .content_type = "application/merge-patch+json"};
}

}  // namespace stint
