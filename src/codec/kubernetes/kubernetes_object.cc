#include "codec/kubernetes/kubernetes_object.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/json_mistake.h"
#include "codec/kubernetes/kube_fields.h"

namespace stint {
namespace {

using namespace kube_fields;

/// Kinds whose objects own pods, at whatever distance, and the batch and serving systems that have them.
constexpr std::array<std::string_view, 39> kOwnerKinds = {"ReplicaSet",
                                                          "ReplicationController",
                                                          "Deployment",
                                                          "StatefulSet",
                                                          "DaemonSet",
                                                          "Job",
                                                          "CronJob",
                                                          "JobSet",
                                                          "LeaderWorkerSet",
                                                          "PyTorchJob",
                                                          "TFJob",
                                                          "MPIJob",
                                                          "XGBoostJob",
                                                          "PaddleJob",
                                                          "JAXJob",
                                                          "MXJob",
                                                          "TrainJob",
                                                          "Notebook",
                                                          "InferenceService",
                                                          "LLMInferenceService",
                                                          "SeldonDeployment",
                                                          "Revision",
                                                          "Configuration",
                                                          "RayCluster",
                                                          "RayJob",
                                                          "RayService",
                                                          "Workflow",
                                                          "CronWorkflow",
                                                          "PipelineRun",
                                                          "TaskRun",
                                                          "SparkApplication",
                                                          "ScheduledSparkApplication",
                                                          "AppWrapper",
                                                          "DynamoGraphDeployment",
                                                          "PodCliqueSet",
                                                          "PodClique",
                                                          "Rollout",
                                                          "CloneSet",
                                                          "Workload"};

/// `use(type, status, reason, since)` of every condition.
template <typename Use>
void each_condition(const dom::object& status, const Use& use) {
  each_of(status, "conditions", [&](const dom::object& condition) {
    use(kube_text(condition, "type"), kube_text(condition, "status"), kube_text(condition, "reason"),
        kube_instant(condition, "lastTransitionTime"));
  });
}

KubernetesNode node_from(const dom::object& root, KubernetesMeta meta) {
  KubernetesNode out;
  out.meta = std::move(meta);
  out.gpu_register = annotation(root, "hami.io/node-nvidia-register");
  with_object(root, "spec", [&](const dom::object& spec) {
    out.provider_id = kube_text(spec, "providerID");
    out.unschedulable = kube_flag(spec, "unschedulable");
  });
  with_object(root, "status", [&](const dom::object& status) {
    out.capacity = kube_resources(status, "capacity");
    out.allocatable = kube_resources(status, "allocatable");
    each_condition(status, [&](const std::string& type, const std::string& is, const std::string&, std::optional<Instant>) {
      if (type == "Ready") out.ready = is == "True";
    });
  });
  return out;
}

std::vector<KubernetesContainer> containers_of(const dom::object& spec, std::string_view key) {
  std::vector<KubernetesContainer> out;
  each_of(spec, key, [&](const dom::object& container) {
    out.push_back({.name = kube_text(container, "name"),
                   .image = kube_text(container, "image"),
                   .sidecar = kube_text(container, "restartPolicy") == "Always",
                   .requests = kube_requests(container)});
  });
  return out;
}

void read_pod_status(const dom::object& status, KubernetesPod& out) {
  out.phase = kube_text(status, "phase");
  out.reason = kube_text(status, "reason");
  out.started = kube_instant(status, "startTime");
  std::optional<Instant> changed;
  each_condition(status,
                 [&](const std::string& type, const std::string& is, const std::string& reason, std::optional<Instant> at) {
                   if (type == "PodScheduled" && is == "True") out.scheduled = at;
                   if (type == "PodScheduled" && is == "False") out.waits_for = reason;
                   if (type == "DisruptionTarget" && is == "True") out.disruption = reason;
                   if (at) changed = std::max(changed.value_or(*at), *at);
                 });
  for (const std::string_view list : {"initContainerStatuses", "containerStatuses"})
    each_of(status, list, [&](const dom::object& container) {
      with_object(container, "state", [&](const dom::object& state) {
        with_object(state, "terminated", [&](const dom::object& end) {
          const auto at = kube_instant(end, "finishedAt");
          if (at && at->ns() > 0) out.ended = std::max(out.ended.value_or(*at), *at);
        });
      });
    });
  if (!out.ended) out.ended = changed;  // evicted, say: its containers tell nothing more
  if (out.phase != "Succeeded" && out.phase != "Failed") out.ended.reset();
}

KubernetesPod pod_from(const dom::object& root, KubernetesMeta meta) {
  KubernetesPod out;
  out.meta = std::move(meta);
  out.gpu_fraction = annotation(root, "gpu-fraction");
  with_object(root, "metadata", [&](const dom::object& m) { out.deleted = kube_instant(m, "deletionTimestamp"); });
  std::vector<std::pair<size_t, std::string>> from_template;  // claims that are made for the pod, by the pod's name for them
  with_object(root, "spec", [&](const dom::object& spec) {
    out.node = kube_text(spec, "nodeName");
    out.priority_class = kube_text(spec, "priorityClassName");
    if (const auto seconds = kube_integer(spec, "activeDeadlineSeconds"); seconds && *seconds > 0 && *seconds < INT32_MAX)
      out.time_limit = Duration::seconds(*seconds);
    out.init_containers = containers_of(spec, "initContainers");
    out.containers = containers_of(spec, "containers");
    each_of(spec, "resourceClaims", [&](const dom::object& claim) {
      out.claims.push_back(kube_text(claim, "resourceClaimName"));
      if (out.claims.back().empty()) from_template.emplace_back(out.claims.size() - 1, kube_text(claim, "name"));
    });
  });
  with_object(root, "status", [&](const dom::object& status) {
    read_pod_status(status, out);
    each_of(status, "resourceClaimStatuses", [&](const dom::object& made) {
      for (const auto& [index, name] : from_template)
        if (name == kube_text(made, "name")) out.claims[index] = kube_text(made, "resourceClaimName");
    });
  });
  return out;
}

/// An attribute of a device: {"string": "…"}, {"int": 0}, {"bool": true}, {"version": "…"}; its name may carry the driver's domain.
void read_attributes(const dom::object& device, KubernetesDevice& out) {
  with_object(device, "attributes", [&](const dom::object& attributes) {
    for (const auto& [qualified, value] : attributes) {
      const std::string_view name = qualified.substr(qualified.rfind('/') + 1);
      dom::object typed;
      if (value.get(typed) != simdjson::SUCCESS) throw BadField{fmt::format("attributes.{}: no object", excerpt(qualified))};
      const std::string text = kube_text(typed, "string");
      if (name == "productName") out.product = text;
      if (name == "uuid") out.uuid = text;
      if (name == "profile") out.mig_profile = text;
      if (name == "parentUUID") out.parent_uuid = text;
      if (name == "type" && !text.empty()) out.is_gpu = text == "gpu" || text == "mig";
      if (name == "index" || name == "minor") {
        const auto index = kube_integer(typed, "int");
        if (index && *index >= 0 && *index < 4096 && (name == "index" || !out.index)) out.index = *index;
      }
    }
  });
}

KubernetesSlice slice_from(const dom::object& root, KubernetesMeta meta) {
  KubernetesSlice out;
  out.meta = std::move(meta);
  with_object(root, "spec", [&](const dom::object& spec) {
    out.driver = kube_text(spec, "driver");
    out.node = kube_text(spec, "nodeName");
    with_object(spec, "pool", [&](const dom::object& pool) {
      out.pool = kube_text(pool, "name");
      out.generation = kube_integer(pool, "generation").value_or(0);
    });
    each_of(spec, "devices", [&](const dom::object& device) {
      KubernetesDevice one;
      one.name = kube_text(device, "name");
      read_attributes(device, one);
      with_object(device, "basic", [&](const dom::object& basic) { read_attributes(basic, one); });  // before resource.k8s.io/v1
      out.devices.push_back(std::move(one));
    });
  });
  return out;
}

KubernetesClaim claim_from(const dom::object& root, KubernetesMeta meta) {
  KubernetesClaim out;
  out.meta = std::move(meta);
  with_object(root, "status", [&](const dom::object& status) {
    with_object(status, "allocation", [&](const dom::object& allocation) {
      with_object(allocation, "devices", [&](const dom::object& devices) {
        each_of(devices, "results", [&](const dom::object& result) {
          out.allocated.push_back({kube_text(result, "driver"), kube_text(result, "pool"), kube_text(result, "device")});
        });
      });
    });
  });
  return out;
}

KubernetesQuota quota_from(const dom::object& root, KubernetesMeta meta) {
  KubernetesQuota out;
  out.meta = std::move(meta);
  with_object(root, "spec", [&](const dom::object& spec) { out.hard = kube_resources(spec, "hard"); });
  with_object(root, "status", [&](const dom::object& status) {
    if (out.hard.empty()) out.hard = kube_resources(status, "hard");
    out.used = kube_resources(status, "used");
  });
  return out;
}

/// core/v1 and events.k8s.io/v1 name the same fields differently.
KubernetesObject warning_from(const dom::object& root, KubernetesMeta meta) {
  KubernetesWarning out;
  std::string about;
  for (const std::string_view key : {"involvedObject", "regarding"})
    with_object(root, key, [&](const dom::object& object) {
      about = kube_text(object, "kind");
      out.pod = kube_text(object, "name");
    });
  if (kube_text(root, "type") != "Warning" || about != "Pod") return KubernetesOther{std::move(meta)};
  out.meta = std::move(meta);
  out.reason = kube_text(root, "reason");
  for (const std::string_view key : {"count", "deprecatedCount"})
    out.count = std::max(out.count, kube_integer(root, key).value_or(1));
  with_object(root, "series",
              [&](const dom::object& s) { out.count = std::max(out.count, kube_integer(s, "count").value_or(1)); });
  return out;
}

KubernetesObject object_from(const dom::object& root, KubernetesMeta meta) {
  if (meta.kind == "Node") return node_from(root, std::move(meta));
  if (meta.kind == "Pod") return pod_from(root, std::move(meta));
  if (meta.kind == "Namespace") return KubernetesNamespace{std::move(meta)};
  if (meta.kind == "ResourceQuota") return quota_from(root, std::move(meta));
  if (meta.kind == "ResourceSlice") return slice_from(root, std::move(meta));
  if (meta.kind == "ResourceClaim") return claim_from(root, std::move(meta));
  if (meta.kind == "Event") return warning_from(root, std::move(meta));
  if (std::ranges::find(kOwnerKinds, meta.kind) != kOwnerKinds.end()) return KubernetesOwner{std::move(meta)};
  return KubernetesOther{std::move(meta)};
}

}  // namespace

namespace kube_fields {
KubernetesNode read_node(const dom::object& root, KubernetesMeta meta) { return node_from(root, std::move(meta)); }
KubernetesPod read_pod(const dom::object& root, KubernetesMeta meta) { return pod_from(root, std::move(meta)); }
}  // namespace kube_fields

std::string_view KubernetesMeta::label(std::string_view key) const {
  for (const Tag& tag : labels)
    if (tag.first == key) return tag.second;
  return {};
}

struct KubernetesDecoder::Impl {
  dom::parser parser;

  Result<dom::object> parse(std::string_view json) { return parse_object(parser, json); }

  static Result<KubernetesObject> object_of(const dom::object& root, std::string_view kind) {
    KubernetesMeta meta;
    try {
      meta = meta_of(root, kind);
    } catch (const BadField& bad) {
      return invalid("{}", bad.what);
    }
    const std::string called = fmt::format("{} {}{}{}", meta.kind, meta.ns, meta.ns.empty() ? "" : "/", meta.name);
    try {
      return object_from(root, std::move(meta));
    } catch (const BadField& bad) {
      return invalid("{}: {}", excerpt(called, 120), bad.what);
    }
  }
};

KubernetesDecoder::KubernetesDecoder() : impl_(std::make_unique<Impl>()) {}
KubernetesDecoder::~KubernetesDecoder() = default;

Result<KubernetesObject> KubernetesDecoder::decode(std::string_view json, std::string_view kind) {
  TRY_ASSIGN(const dom::object root, impl_->parse(json));
  return Impl::object_of(root, kind);
}

Result<KubernetesEvent> KubernetesDecoder::decode_event(std::string_view line, std::string_view kind) {
  TRY_ASSIGN(const dom::object root, impl_->parse(line));
  dom::object object;
  TRY_ASSIGN(KubernetesEvent out, read_event(root, object));
  if (out.kind == KubernetesEvent::Kind::kError || out.kind == KubernetesEvent::Kind::kBookmark) return out;
  auto decoded = Impl::object_of(object, kind);
  if (decoded.ok())
    out.object = std::move(*decoded);
  else
    out.message = decoded.error().message;
  return out;
}

}  // namespace stint
