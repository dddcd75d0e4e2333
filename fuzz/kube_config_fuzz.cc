// kubeconfig files (YAML), what credential plugins print, lines of a watch, Jobs and their events, descriptions of clients' namespaces, conditions on devices.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "codec/kubernetes/kube_cel.h"
#include "codec/kubernetes/kube_config.h"
#include "codec/kubernetes/kube_tenant.h"
#include "codec/kubernetes/kubernetes_job.h"
#include "codec/kubernetes/kubernetes_placing.h"
#include "codec/kubernetes/kubernetes_state.h"
#include "codec/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)stint::parse_kube_config(text, "config", "");
  (void)stint::parse_exec_credential(text, "plugin");
  stint::KubernetesState state;
  (void)state.event(text, "Pod", stint::Instant());
  stint::KubePlacingDecoder placing;
  for (const std::string_view kind : {"Pod", "Node", "PodGroup", "PersistentVolumeClaim", "PersistentVolume", "StorageClass",
                                      "ResourceSlice", "DeviceClass", "ResourceClaim"})
    (void)placing.decode_event(text, kind);
  if (const auto condition = stint::KubeCondition::parse(text); condition.ok())
    (void)condition->holds({.name = "d", .attributes = {{"a/b", "x"}}, .capacity = {}, .why_not = {}}, "a");
  stint::KubeMadeJobDecoder jobs;
  (void)jobs.decode(text);
  (void)jobs.decode_event(text);
  (void)jobs.last_warning(text);
  (void)stint::parse_kube_toleration(text);
  if (const auto tenant = stint::parse_kube_tenant(text, "tenants", "acme"); tenant.ok())
    for (const auto& manifest : stint::tenant_manifests(*tenant)) {
      const auto yaml = stint::yaml_of_json(manifest.json);
      if (!yaml.ok() || !stint::parse_yaml(*yaml).ok()) __builtin_trap();
    }
  const auto pod = placing.decode(text, "Pod");
  const auto node = placing.decode(text, "Node");
  if (pod.ok() && node.ok())
    (void)stint::why_not_on(std::get<stint::KubePlacingPod>(*pod), std::get<stint::KubePlacingNode>(*node));
  return 0;
}
