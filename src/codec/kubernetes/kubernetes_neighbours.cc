#include "codec/kubernetes/kubernetes_neighbours.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/kubernetes/kube_fields.h"

namespace stint {
namespace {

using namespace kube_fields;

/// Volumes that any node has; the others may be in one place alone.
constexpr std::array<std::string_view, 8> kVolumesAnywhere = {"emptyDir",    "configMap", "secret", "projected",
                                                              "downwardAPI", "hostPath",  "nfs",    "image"};

std::vector<KubeLabelRule> rules_of(const dom::object& selector) {
  std::vector<KubeLabelRule> rules;
  for (const auto& [key, value] : kube_tags(selector, "matchLabels"))
    rules.push_back({.key = key, .how = "In", .values = {value}});
  each_of(selector, "matchExpressions", [&](const dom::object& rule) {
    rules.push_back({kube_text(rule, "key"), kube_text(rule, "operator"), kube_texts(rule, "values")});
  });
  return rules;
}

KubeSelector selector_of(const dom::object& holder) {
  KubeSelector out;
  with_object(holder, "labelSelector", [&](const dom::object& selector) {
    out.nothing = false;
    out.rules = rules_of(selector);
  });
  return out;
}

KubePodTerm pod_term(const dom::object& term, const KubernetesMeta& pod, bool& by_label) {
  KubePodTerm out{
      .selector = selector_of(term), .namespaces = kube_texts(term, "namespaces"), .domain = kube_text(term, "topologyKey")};
  bool chosen = false;
  with_object(term, "namespaceSelector", [&](const dom::object& selector) {
    chosen = out.everywhere = true;
    by_label |= !rules_of(selector).empty();
  });
  if (out.namespaces.empty() && !chosen) out.namespaces = {pod.ns};
  return out;
}

void read_pod_terms(const dom::object& affinity, const KubernetesMeta& pod, KubeNeighbours& out,
                    std::vector<std::string>& not_understood) {
  for (const auto& [kind, terms] : {std::pair("podAffinity", &out.near), std::pair("podAntiAffinity", &out.apart)})
    with_object(affinity, kind, [&](const dom::object& of_pods) {
      bool by_label = false;
      each_of(of_pods, "requiredDuringSchedulingIgnoredDuringExecution",
              [&](const dom::object& term) { terms->push_back(pod_term(term, pod, by_label)); });
      if (by_label) not_understood.push_back(fmt::format("affinity.{}.namespaceSelector", kind));
    });
}

void read_spreads(const dom::object& spec, const KubernetesMeta& pod, KubeNeighbours& out) {
  each_of(spec, "topologySpreadConstraints", [&](const dom::object& one) {
    if (kube_text(one, "whenUnsatisfiable") == "ScheduleAnyway") return;
    KubeSpread spread{.most_apart = std::max<int64_t>(1, kube_integer(one, "maxSkew").value_or(1)),
                      .least_domains = std::max<int64_t>(1, kube_integer(one, "minDomains").value_or(1)),
                      .domain = kube_text(one, "topologyKey"),
                      .selector = selector_of(one)};
    spread.only_where_it_may_be = kube_text(one, "nodeAffinityPolicy") != "Ignore";
    spread.only_where_tolerated = kube_text(one, "nodeTaintsPolicy") == "Honor";
    for (const std::string& key : kube_texts(one, "matchLabelKeys"))
      if (const auto label = std::ranges::find(pod.labels, key, &Tag::first); label != pod.labels.end())
        spread.selector.rules.push_back({.key = key, .how = "In", .values = {label->second}});
    out.spreads.push_back(std::move(spread));
  });
}

void read_ports(const dom::object& spec, KubeNeighbours& out) {
  for (const std::string_view list : {"containers", "initContainers"})
    each_of(spec, list, [&](const dom::object& container) {
      each_of(container, "ports", [&](const dom::object& port) {
        const int64_t number = kube_integer(port, "hostPort").value_or(0);
        if (number != 0) out.ports.push_back({kube_text(port, "hostIP"), kube_text(port, "protocol"), number});
      });
    });
}

void read_volumes(const dom::object& spec, const KubernetesMeta& pod, KubeNeighbours& out,
                  std::vector<std::string>& not_understood) {
  each_of(spec, "volumes", [&](const dom::object& volume) {
    for (const auto& [key, value] : volume) {
      if (key == "name" || std::ranges::find(kVolumesAnywhere, key) != kVolumesAnywhere.end()) continue;
      if (key == "persistentVolumeClaim") {
        with_object(volume, key, [&](const dom::object& claim) { out.claims.push_back(kube_text(claim, "claimName")); });
      } else if (key == "ephemeral") {  // the cluster makes a claim of this name
        out.claims.push_back(fmt::format("{}-{}", pod.name, kube_text(volume, "name")));
      } else {
        not_understood.push_back(fmt::format("volumes.{}", excerpt(key)));
      }
    }
  });
}

}  // namespace

bool matches(const KubeLabelRule& rule, const std::vector<Tag>& labels, std::string_view name) {
  const auto tag = std::ranges::find(labels, rule.key, &Tag::first);
  const bool there = rule.of_name || tag != labels.end();
  const std::string_view value = rule.of_name ? name : there ? std::string_view(tag->second) : "";
  const bool listed = there && std::ranges::find(rule.values, value) != rule.values.end();
  if (rule.of_name && rule.key != "metadata.name") return false;
  if (rule.how == "In") return listed;
  if (rule.how == "NotIn") return !listed;
  if (rule.how == "Exists") return there;
  if (rule.how == "DoesNotExist") return !there;
  const auto has = parse_int(value);
  const auto limit = rule.values.size() == 1 ? parse_int(rule.values.front()) : std::nullopt;
  if (!has || !limit) return false;
  return rule.how == "Gt" ? *has > *limit : rule.how == "Lt" && *has < *limit;
}

bool KubeSelector::holds(const std::vector<Tag>& labels) const {
  return !nothing && std::ranges::all_of(rules, [&](const KubeLabelRule& rule) { return matches(rule, labels); });
}

bool KubePodTerm::is_about(const KubernetesMeta& pod) const {
  return (everywhere || std::ranges::find(namespaces, pod.ns) != namespaces.end()) && selector.holds(pod.labels);
}

bool KubeHostPort::is_in_the_way_of(const KubeHostPort& other) const {
  const auto any = [](const std::string& address) { return address.empty() || address == "0.0.0.0" || address == "::"; };
  return port == other.port && protocol == other.protocol && (any(ip) || any(other.ip) || ip == other.ip);
}

namespace kube_fields {

KubeNodeTerm read_node_term(const dom::object& term) {
  KubeNodeTerm out;
  const auto add = [&](std::string_view list, bool of_name) {
    each_of(term, list, [&](const dom::object& rule) {
      out.push_back({kube_text(rule, "key"), kube_text(rule, "operator"), kube_texts(rule, "values"), of_name});
    });
  };
  add("matchExpressions", false);
  add("matchFields", true);
  return out;
}

KubeNeighbours read_neighbours(const dom::object& spec, const KubernetesMeta& pod, std::vector<std::string>& not_understood) {
  KubeNeighbours out;
  with_object(spec, "affinity", [&](const dom::object& affinity) { read_pod_terms(affinity, pod, out, not_understood); });
  read_spreads(spec, pod, out);
  read_ports(spec, out);
  read_volumes(spec, pod, out, not_understood);
  return out;
}

KubeVolumeClaim read_volume_claim(const dom::object& root, KubernetesMeta meta) {
  KubeVolumeClaim out{.meta = std::move(meta), .volume = {}, .kind = {}, .chosen = {}};
  out.chosen = annotation(root, "volume.kubernetes.io/selected-node");
  with_object(root, "spec", [&](const dom::object& spec) {
    out.volume = kube_text(spec, "volumeName");
    out.kind = kube_text(spec, "storageClassName");
    const std::vector<std::string> modes = kube_texts(spec, "accessModes");
    out.of_one_pod = std::ranges::find(modes, "ReadWriteOncePod") != modes.end();
  });
  // Named, and not yet that volume's.
  with_object(root, "status", [&](const dom::object& status) {
    if (kube_text(status, "phase") != "Bound") out.volume.clear();
  });
  return out;
}

KubeVolume read_volume(const dom::object& root, KubernetesMeta meta) {
  KubeVolume out{.meta = std::move(meta), .has_terms = false, .terms = {}};
  with_object(root, "spec", [&](const dom::object& spec) {
    with_object(spec, "nodeAffinity", [&](const dom::object& affinity) {
      with_object(affinity, "required", [&](const dom::object& required) {
        out.has_terms = true;
        each_of(required, "nodeSelectorTerms", [&](const dom::object& term) { out.terms.push_back(read_node_term(term)); });
      });
    });
  });
  return out;
}

KubeStorageClass read_storage_class(const dom::object& root, KubernetesMeta meta) {
  KubeStorageClass out;
  out.meta = std::move(meta);
  out.provisioner = kube_text(root, "provisioner");
  out.waits = kube_text(root, "volumeBindingMode") == "WaitForFirstConsumer";
  each_of(root, "allowedTopologies", [&](const dom::object& topology) {
    out.has_terms = true;
    KubeNodeTerm term;
    each_of(topology, "matchLabelExpressions", [&](const dom::object& rule) {
      term.push_back({.key = kube_text(rule, "key"), .how = "In", .values = kube_texts(rule, "values")});
    });
    out.terms.push_back(std::move(term));
  });
  return out;
}

}  // namespace kube_fields
}  // namespace stint
