#include "codec/kubernetes/kubernetes_placing.h"

#include <simdjson.h>

#include <algorithm>

#include "base/text.h"
#include "codec/kubernetes/kube_fields.h"
#include "codec/kubernetes/kubernetes_gpus.h"

namespace stint {
namespace {

using namespace kube_fields;

constexpr std::string_view kOwnAnnotations = "stint/";

std::vector<Tag> node_or_pod_annotations(const dom::object& meta) {
  std::vector<Tag> own;
  for (Tag& one : kube_tags(meta, "annotations"))
    if (one.first.starts_with(kOwnAnnotations)) own.push_back(std::move(one));
  return own;
}

KubePlacingNode placing_node(const dom::object& root, KubernetesMeta meta) {
  KubePlacingNode out;
  out.node = read_node(root, std::move(meta));
  with_object(root, "metadata", [&](const dom::object& m) {
    out.version = kube_text(m, "resourceVersion");
    out.deleting = has_field(m, "deletionTimestamp");
    out.annotations = node_or_pod_annotations(m);
  });
  with_object(root, "spec", [&](const dom::object& spec) {
    if (dom::element taints; spec["taints"].get(taints) == simdjson::SUCCESS && taints.is_array())
      out.taints_json = simdjson::minify(taints);
    each_of(spec, "taints", [&](const dom::object& taint) {
      out.taints.push_back({kube_text(taint, "key"), kube_text(taint, "value"), kube_text(taint, "effect")});
    });
  });
  const KubernetesGpus gpus = gpus_of(out.node);
  const auto whole = out.node.capacity.find("nvidia.com/gpu");
  out.whole_gpus = whole != out.node.capacity.end() && gpus.sharing.empty();
  out.mig_devices = gpus.sharing == "MIG" && gpus.mig_replicas.empty() &&
                    (whole == out.node.capacity.end() || whole->second == 0) &&
                    std::ranges::none_of(out.node.capacity, [](const auto& one) { return one.first.ends_with(".shared"); });
  return out;
}

void read_affinity(const dom::object& affinity, KubePlacingPod& out) {
  with_object(affinity, "nodeAffinity", [&](const dom::object& node) {
    with_object(node, "requiredDuringSchedulingIgnoredDuringExecution", [&](const dom::object& required) {
      out.has_terms = true;
      each_of(required, "nodeSelectorTerms", [&](const dom::object& term) { out.terms.push_back(read_node_term(term)); });
    });
  });
}

void read_amounts(const dom::object& spec, KubePlacingPod& out) {
  out.requests = requests_of(out.pod);
  for (const auto& [name, amount] : kube_requests(spec))  // of the pod as a whole
    out.requests.insert_or_assign(name, amount);
  for (const auto& [name, amount] : kube_resources(spec, "overhead"))
    out.requests[name] += amount;
}

void read_spec(const dom::object& spec, KubePlacingPod& out) {
  out.scheduler = kube_text(spec, "schedulerName");
  out.priority = kube_integer(spec, "priority").value_or(0);
  if (const auto seconds = kube_integer(spec, "terminationGracePeriodSeconds"); seconds && *seconds >= 0 && *seconds < INT32_MAX)
    out.grace = Duration::seconds(*seconds);
  each_of(spec, "schedulingGates", [&](const dom::object&) { out.gated = true; });
  out.selector = kube_tags(spec, "nodeSelector");
  each_of(spec, "tolerations", [&](const dom::object& one) {
    const std::string how = kube_text(one, "operator");
    if (how == "Lt" || how == "Gt") return;  // tolerates numbers of a taint: without it the taint holds
    out.tolerations.push_back({kube_text(one, "key"), kube_text(one, "value"), kube_text(one, "effect"), how == "Exists"});
  });
  read_amounts(spec, out);
  with_object(spec, "affinity", [&](const dom::object& affinity) { read_affinity(affinity, out); });
  out.around = read_neighbours(spec, out.pod.meta, out.not_understood);
  for (const std::string_view field : {"workloadRef", "schedulingGroup"})
    if (has_field(spec, field)) out.not_understood.emplace_back(field);
}

void read_ends(const dom::object& status, KubePlacingPod& out) {
  each_of(status, "conditions", [&](const dom::object& condition) {
    if (kube_text(condition, "type") == "PodScheduled" && kube_text(condition, "status") == "False")
      out.scheduled_message = kube_text(condition, "message");
  });
  for (const std::string_view list : {"initContainerStatuses", "containerStatuses"})
    each_of(status, list, [&](const dom::object& container) {
      with_object(container, "state", [&](const dom::object& state) {
        with_object(state, "waiting", [&](const dom::object& waiting) {
          if (!out.waiting_reason.empty()) return;
          out.waiting_reason = kube_text(waiting, "reason");
          out.waiting_message = kube_text(waiting, "message");
        });
        with_object(state, "terminated", [&](const dom::object& end) {
          const int64_t code = kube_integer(end, "exitCode").value_or(0);
          if (out.exit_code.value_or(0) != 0) return;
          out.exit_code = code;
          out.exit_reason = kube_text(end, "reason");
        });
      });
    });
}

KubePlacingPod placing_pod(const dom::object& root, KubernetesMeta meta) {
  KubePlacingPod out;
  out.pod = read_pod(root, std::move(meta));
  with_object(root, "metadata", [&](const dom::object& m) {
    out.version = kube_text(m, "resourceVersion");
    out.deleting = has_field(m, "deletionTimestamp");
    out.annotations = node_or_pod_annotations(m);
  });
  with_object(root, "spec", [&](const dom::object& spec) { read_spec(spec, out); });
  if (!out.pod.gpu_fraction.empty()) out.not_understood.emplace_back("annotations.gpu-fraction");
  with_object(root, "status", [&](const dom::object& status) { read_ends(status, out); });
  return out;
}

KubePodGroup pod_group(const dom::object& root, KubernetesMeta meta) {
  KubePodGroup out{.meta = std::move(meta)};
  with_object(root, "spec", [&](const dom::object& spec) { out.min_member = kube_integer(spec, "minMember").value_or(0); });
  return out;
}

/// Says how the node is at the moment, not who may be there.
bool is_passing(const KubeTaint& taint) {
  return taint.key.starts_with("node.kubernetes.io/") || taint.key.starts_with("node.cloudprovider.kubernetes.io/") ||
         taint.key.starts_with("aws-node-termination-handler/") || taint.key == "ToBeDeletedByClusterAutoscaler" ||
         taint.key == "karpenter.sh/disrupted" || taint.key == "cloud.google.com/impending-node-termination";
}

bool tolerates(const KubeToleration& toleration, const KubeTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (toleration.key.empty()) return toleration.exists;
  return toleration.key == taint.key && (toleration.exists || toleration.value == taint.value);
}

}  // namespace

namespace {
std::string_view value_in(const std::vector<Tag>& annotations, std::string_view key) {
  const auto it = std::ranges::find(annotations, key, &Tag::first);
  return it == annotations.end() ? std::string_view() : std::string_view(it->second);
}
}  // namespace

std::string_view KubePlacingNode::annotation(std::string_view key) const { return value_in(annotations, key); }
std::string_view KubePlacingPod::annotation(std::string_view key) const { return value_in(annotations, key); }

struct KubePlacingDecoder::Impl {
  dom::parser parser;

  static Result<KubePlacingObject> object_of(const dom::object& root, std::string_view kind) {
    std::string called(kind);
    try {
      KubernetesMeta meta = meta_of(root, kind);
      called = fmt::format("{} {}{}{}", kind, meta.ns, meta.ns.empty() ? "" : "/", meta.name);
      if (kind == "Node") return KubePlacingObject(placing_node(root, std::move(meta)));
      if (kind == "PodGroup") return KubePlacingObject(pod_group(root, std::move(meta)));
      if (kind == "PersistentVolumeClaim") return KubePlacingObject(read_volume_claim(root, std::move(meta)));
      if (kind == "PersistentVolume") return KubePlacingObject(read_volume(root, std::move(meta)));
      if (kind == "StorageClass") return KubePlacingObject(read_storage_class(root, std::move(meta)));
      if (kind == "ResourceSlice") return KubePlacingObject(read_device_slice(root, std::move(meta)));
      if (kind == "DeviceClass") return KubePlacingObject(read_device_class(root, std::move(meta)));
      if (kind == "ResourceClaim") return KubePlacingObject(read_device_claim(root, std::move(meta)));
      return KubePlacingObject(placing_pod(root, std::move(meta)));
    } catch (const BadField& bad) {
      return invalid("{}: {}", excerpt(called, 120), bad.what);
    }
  }
};

KubePlacingDecoder::KubePlacingDecoder() : impl_(std::make_unique<Impl>()) {}
KubePlacingDecoder::~KubePlacingDecoder() = default;

Result<KubePlacingObject> KubePlacingDecoder::decode(std::string_view json, std::string_view kind) {
  TRY_ASSIGN(const dom::object root, parse_object(impl_->parser, json));
  return Impl::object_of(root, kind);
}

Result<KubePlacingEvent> KubePlacingDecoder::decode_event(std::string_view line, std::string_view kind) {
  TRY_ASSIGN(const dom::object root, parse_object(impl_->parser, line));
  KubePlacingEvent out;
  dom::object object;
  TRY_ASSIGN(out.event, read_event(root, object));
  if (out.event.kind == KubernetesEvent::Kind::kError || out.event.kind == KubernetesEvent::Kind::kBookmark) return out;
  auto decoded = Impl::object_of(object, kind);
  if (decoded.ok())
    out.object = std::move(*decoded);
  else
    out.event.message = decoded.error().message;
  return out;
}

std::string why_no_work(const KubePlacingNode& node) {
  if (node.deleting) return "is being deleted";
  if (node.node.unschedulable) return "cordoned";
  if (node.node.ready == false) return "not ready";
  for (const KubeTaint& taint : node.taints)
    if (taint.effect != "PreferNoSchedule" && is_passing(taint)) return fmt::format("taint {}", taint.key);
  return {};
}

bool one_holds(const std::vector<KubeNodeTerm>& terms, const KubernetesNode& node) {
  return std::ranges::any_of(terms, [&](const KubeNodeTerm& term) {
    return !term.empty() &&
           std::ranges::all_of(term, [&](const KubeLabelRule& rule) { return matches(rule, node.meta.labels, node.meta.name); });
  });
}

std::string why_not_asked_for(const KubePlacingPod& pod, const KubePlacingNode& node) {
  for (const auto& [key, value] : pod.selector) {
    const auto& labels = node.node.meta.labels;
    if (std::ranges::find(labels, Tag(key, value)) == labels.end()) return fmt::format("nodeSelector {}={}", key, value);
  }
  return pod.has_terms && !one_holds(pod.terms, node.node) ? "required node affinity" : "";
}

std::string why_not_tolerated(const KubePlacingPod& pod, const KubePlacingNode& node, bool passing_too) {
  for (const KubeTaint& taint : node.taints) {
    if (taint.effect == "PreferNoSchedule" || (is_passing(taint) && !passing_too)) continue;
    if (std::ranges::none_of(pod.tolerations, [&](const KubeToleration& one) { return tolerates(one, taint); }))
      return fmt::format("taint {}{}{}", taint.key, taint.value.empty() ? "" : "=", taint.value);
  }
  return {};
}

std::string why_not_on(const KubePlacingPod& pod, const KubePlacingNode& node) {
  std::string why = why_not_asked_for(pod, node);
  return why.empty() ? why_not_tolerated(pod, node) : why;
}

}  // namespace stint
