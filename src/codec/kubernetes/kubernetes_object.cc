#include "codec/kubernetes/kubernetes_object.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/json_mistake.h"

namespace stint {
namespace {

namespace dom = simdjson::dom;

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

/// Thrown within this file, like the JSON library's own exceptions elsewhere in codec.
struct BadField {
  std::string what;
};

/// Calls `use` with the object of that name, where there is one.
template <typename Use>
void with_object(const dom::object& object, std::string_view key, const Use& use) {
  dom::element value;
  dom::object found;
  if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) return;
  if (value.get(found) != simdjson::SUCCESS) throw BadField{fmt::format("{}: no object", key)};
  use(found);
}

template <typename Use>
void each_of(const dom::object& object, std::string_view key, const Use& use) {
  dom::element value;
  dom::array list;
  if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) return;
  if (value.get(list) != simdjson::SUCCESS) throw BadField{fmt::format("{}: no list", key)};
  for (const dom::element entry : list) {
    dom::object of_entry;
    if (entry.get(of_entry) != simdjson::SUCCESS) throw BadField{fmt::format("{}: an entry is no object", key)};
    use(of_entry);
  }
}

std::string kube_text(const dom::object& object, std::string_view key) {
  dom::element value;
  std::string_view text;
  if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) return {};
  if (value.get(text) != simdjson::SUCCESS) throw BadField{fmt::format("{}: no text", key)};
  return std::string(text);
}

bool kube_flag(const dom::object& object, std::string_view key) {
  bool value = false;
  return object[key].get(value) == simdjson::SUCCESS && value;
}

std::optional<int64_t> kube_integer(const dom::object& object, std::string_view key) {
  int64_t value = 0;
  if (object[key].get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

std::optional<Instant> kube_instant(const dom::object& object, std::string_view key) {
  const std::string text = kube_text(object, key);
  if (text.empty()) return std::nullopt;
  const auto at = parse_instant(text);
  if (!at.ok()) throw BadField{fmt::format("{}: '{}' is no time", key, excerpt(text))};
  return *at;
}

std::vector<Tag> kube_tags(const dom::object& object, std::string_view key) {
  std::vector<Tag> out;
  with_object(object, key, [&](const dom::object& map) {
    for (const auto& [name, value] : map)
      if (std::string_view text; value.get(text) == simdjson::SUCCESS) out.emplace_back(name, text);
  });
  return out;
}

KubernetesResources kube_resources(const dom::object& object, std::string_view key) {
  KubernetesResources out;
  with_object(object, key, [&](const dom::object& map) {
    for (const auto& [name, value] : map) {
      std::string_view text;
      int64_t whole = 0;
      std::optional<int64_t> amount;
      if (value.get(text) == simdjson::SUCCESS)
        amount = parse_kubernetes_quantity(text);
      else if (value.get(whole) == simdjson::SUCCESS && whole >= 0 && whole <= INT64_MAX / 1000)
        amount = whole * 1000;
      if (!amount)
        throw BadField{fmt::format("{}.{}: '{}' is no amount such as 2, 500m or 16Gi", key, excerpt(name), excerpt(text))};
      out.emplace(std::string(name), *amount);
    }
  });
  return out;
}

KubernetesMeta meta_of(const dom::object& root, std::string_view kind) {
  KubernetesMeta out;
  out.kind = kube_text(root, "kind");
  if (out.kind.empty() || (out.kind == "PartialObjectMetadata" && !kind.empty())) out.kind = kind;
  if (out.kind.empty()) throw BadField{"kind: the object does not say what it is"};
  with_object(root, "metadata", [&](const dom::object& meta) {
    out.name = kube_text(meta, "name");
    out.ns = kube_text(meta, "namespace");
    out.uid = kube_text(meta, "uid");
    out.generate_name = kube_text(meta, "generateName");
    out.created = kube_instant(meta, "creationTimestamp");
    out.labels = kube_tags(meta, "labels");
    bool controller = false;
    each_of(meta, "ownerReferences", [&](const dom::object& reference) {
      const bool controls = kube_flag(reference, "controller");
      if (out.owner && (controller || !controls)) return;
      controller = controls;
      out.owner = KubernetesReference{kube_text(reference, "kind"), kube_text(reference, "name"), kube_text(reference, "uid")};
    });
  });
  if (out.name.empty()) throw BadField{"metadata.name: absent"};
  return out;
}

std::string annotation(const dom::object& root, std::string_view name) {
  std::string out;
  with_object(root, "metadata", [&](const dom::object& meta) {
    with_object(meta, "annotations", [&](const dom::object& all) {
      if (std::string_view text; all[name].get(text) == simdjson::SUCCESS) out = text;
    });
  });
  return out;
}

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

/// Where only a limit is given, it is the request, too.
KubernetesResources kube_requests(const dom::object& container) {
  KubernetesResources out;
  with_object(container, "resources", [&](const dom::object& resources) {
    out = kube_resources(resources, "requests");
    for (const auto& [name, amount] : kube_resources(resources, "limits"))
      out.try_emplace(name, amount);
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

KubernetesEvent::Kind event_kind_of(std::string_view type) {
  if (type == "ADDED") return KubernetesEvent::Kind::kAdded;
  if (type == "MODIFIED") return KubernetesEvent::Kind::kModified;
  if (type == "DELETED") return KubernetesEvent::Kind::kDeleted;
  if (type == "BOOKMARK") return KubernetesEvent::Kind::kBookmark;
  if (type == "ERROR") return KubernetesEvent::Kind::kError;
  throw BadField{fmt::format("type: '{}' is none of ADDED, MODIFIED, DELETED, BOOKMARK, ERROR", excerpt(type))};
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

std::string_view KubernetesMeta::label(std::string_view key) const {
  for (const Tag& tag : labels)
    if (tag.first == key) return tag.second;
  return {};
}

struct KubernetesDecoder::Impl {
  dom::parser parser;

  Result<dom::object> parse(std::string_view json) {
    dom::element document;
    dom::object root;
    if (const auto error = parser.parse(json.data(), json.size()).get(document); error != simdjson::SUCCESS)
      return invalid("not JSON ({})", json_mistake_or(json, simdjson::error_message(error)));
    if (document.get(root) != simdjson::SUCCESS) return invalid("no object of the API");
    return root;
  }

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
  KubernetesEvent out;
  dom::object object;
  if (root["object"].get(object) != simdjson::SUCCESS) return invalid("no event of a watch: it has no object");
  try {
    out.kind = event_kind_of(kube_text(root, "type"));
    with_object(object, "metadata", [&](const dom::object& meta) { out.version = kube_text(meta, "resourceVersion"); });
    if (out.kind == KubernetesEvent::Kind::kError) {
      out.error_code = static_cast<int>(std::clamp<int64_t>(kube_integer(object, "code").value_or(0), 0, 999));
      out.message = kube_text(object, "message");
    }
  } catch (const BadField& bad) {
    return invalid("no event of a watch: {}", bad.what);
  }
  if (out.kind == KubernetesEvent::Kind::kError || out.kind == KubernetesEvent::Kind::kBookmark) return out;
  auto decoded = Impl::object_of(object, kind);
  if (decoded.ok())
    out.object = std::move(*decoded);
  else
    out.message = decoded.error().message;
  return out;
}

}  // namespace stint
