#include "codec/kubernetes/kube_fields.h"

#include <simdjson.h>

#include <algorithm>

#include "base/text.h"
#include "codec/json_mistake.h"

namespace stint::kube_fields {
namespace {

KubernetesEvent::Kind event_kind_of(std::string_view type) {
  if (type == "ADDED") return KubernetesEvent::Kind::kAdded;
  if (type == "MODIFIED") return KubernetesEvent::Kind::kModified;
  if (type == "DELETED") return KubernetesEvent::Kind::kDeleted;
  if (type == "BOOKMARK") return KubernetesEvent::Kind::kBookmark;
  if (type == "ERROR") return KubernetesEvent::Kind::kError;
  throw BadField{fmt::format("type: '{}' is none of ADDED, MODIFIED, DELETED, BOOKMARK, ERROR", excerpt(type))};
}

}  // namespace

void with_object(const dom::object& object, std::string_view key, const UseObject& use) {
  dom::element value;
  dom::object found;
  if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) return;
  if (value.get(found) != simdjson::SUCCESS) throw BadField{fmt::format("{}: no object", key)};
  use(found);
}

void each_of(const dom::object& object, std::string_view key, const UseObject& use) {
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

KubernetesResources kube_requests(const dom::object& container) {
  KubernetesResources out;
  with_object(container, "resources", [&](const dom::object& resources) {
    out = kube_resources(resources, "requests");
    for (const auto& [name, amount] : kube_resources(resources, "limits"))
      out.try_emplace(name, amount);
  });
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

bool has_field(const dom::object& object, std::string_view key) {
  dom::element value;
  return object[key].get(value) == simdjson::SUCCESS && !value.is_null();
}

std::vector<std::string> kube_texts(const dom::object& object, std::string_view key) {
  std::vector<std::string> out;
  dom::element value;
  dom::array list;
  if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) return out;
  if (value.get(list) != simdjson::SUCCESS) throw BadField{fmt::format("{}: no list", key)};
  for (const dom::element entry : list) {
    std::string_view text;
    if (entry.get(text) != simdjson::SUCCESS) throw BadField{fmt::format("{}: an entry is no text", key)};
    out.emplace_back(text);
  }
  return out;
}

Result<dom::object> parse_object(dom::parser& parser, std::string_view json) {
  dom::element document;
  dom::object root;
  if (const auto error = parser.parse(json.data(), json.size()).get(document); error != simdjson::SUCCESS)
    return invalid("not JSON ({})", json_mistake_or(json, simdjson::error_message(error)));
  if (document.get(root) != simdjson::SUCCESS) return invalid("no object of the API");
  return root;
}

Result<KubernetesEvent> read_event(const dom::object& root, dom::object& object) {
  KubernetesEvent out;
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
  return out;
}

}  // namespace stint::kube_fields
