// Members of an object of the Kubernetes API, as its readers need them. What is absent or null is empty; what has another type is thrown as
// BadField, and caught within codec.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/kubernetes/kubernetes_devices.h"
#include "codec/kubernetes/kubernetes_neighbours.h"
#include "codec/kubernetes/kubernetes_object.h"

// The parser itself stays in the files that walk an object.
namespace simdjson::dom {
class object;
class parser;
}  // namespace simdjson::dom

namespace stint::kube_fields {

namespace dom = simdjson::dom;

struct BadField {
  std::string what;
};

using UseObject = std::function<void(const dom::object&)>;
/// Calls `use` with the object of that name, where there is one.
void with_object(const dom::object& object, std::string_view key, const UseObject& use);
/// With each object of a list.
void each_of(const dom::object& object, std::string_view key, const UseObject& use);
[[nodiscard]] bool has_field(const dom::object& object, std::string_view key);
std::string kube_text(const dom::object& object, std::string_view key);
std::vector<std::string> kube_texts(const dom::object& object, std::string_view key);
bool kube_flag(const dom::object& object, std::string_view key);
std::optional<int64_t> kube_integer(const dom::object& object, std::string_view key);
std::optional<Instant> kube_instant(const dom::object& object, std::string_view key);
std::vector<Tag> kube_tags(const dom::object& object, std::string_view key);
KubernetesResources kube_resources(const dom::object& object, std::string_view key);
/// Of a container or a pod: where only a limit is given, it is the request, too.
KubernetesResources kube_requests(const dom::object& container);
KubernetesMeta meta_of(const dom::object& root, std::string_view kind);
std::string annotation(const dom::object& root, std::string_view name);

/// Whole objects. Throw BadField.
KubernetesNode read_node(const dom::object& root, KubernetesMeta meta);
KubernetesPod read_pod(const dom::object& root, KubernetesMeta meta);
/// @param pod  whose specification it is. @param not_understood  gets the fields that cannot be honoured.
KubeNeighbours read_neighbours(const dom::object& spec, const KubernetesMeta& pod, std::vector<std::string>& not_understood);
KubeNodeTerm read_node_term(const dom::object& term);
KubeVolumeClaim read_volume_claim(const dom::object& root, KubernetesMeta meta);
KubeVolume read_volume(const dom::object& root, KubernetesMeta meta);
KubeStorageClass read_storage_class(const dom::object& root, KubernetesMeta meta);
KubeDeviceSlice read_device_slice(const dom::object& root, KubernetesMeta meta);
KubeDeviceClass read_device_class(const dom::object& root, KubernetesMeta meta);
KubeDeviceClaim read_device_claim(const dom::object& root, KubernetesMeta meta);

/// @return error when it is none.
Result<dom::object> parse_object(dom::parser& parser, std::string_view json);
/// An event of a watch without what it is about. @param object  that.
Result<KubernetesEvent> read_event(const dom::object& root, dom::object& object);

}  // namespace stint::kube_fields
