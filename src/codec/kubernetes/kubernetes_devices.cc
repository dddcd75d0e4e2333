#include "codec/kubernetes/kubernetes_devices.h"

#include <simdjson.h>

#include <algorithm>

#include "base/text.h"
#include "codec/kubernetes/kube_fields.h"

namespace stint::kube_fields {
namespace {

std::string whole_name(std::string_view key, std::string_view driver) {
  return key.find('/') == std::string_view::npos ? fmt::format("{}/{}", driver, key) : std::string(key);
}

void read_attributes(const dom::object& device, std::string_view driver, KubeDevice& out) {
  with_object(device, "attributes", [&](const dom::object& all) {
    for (const auto& [key, value] : all) {
      dom::object of;
      if (value.get(of) != simdjson::SUCCESS) continue;
      const std::string name = whole_name(key, driver);
      if (const auto number = kube_integer(of, "int")) out.attributes.emplace(name, *number);
      if (has_field(of, "bool")) out.attributes.emplace(name, kube_flag(of, "bool"));
      if (std::string text = kube_text(of, "string"); has_field(of, "string")) out.attributes.emplace(name, std::move(text));
      if (const auto version = parse_kube_version(kube_text(of, "version")); version.ok()) out.attributes.emplace(name, *version);
    }
  });
  with_object(device, "capacity", [&](const dom::object& all) {
    for (const auto& [key, value] : all)
      if (dom::object of; value.get(of) == simdjson::SUCCESS)
        if (const auto amount = parse_kubernetes_quantity(kube_text(of, "value")))
          out.capacity.emplace(whole_name(key, driver), *amount);
  });
}

KubeDevice read_device(const dom::object& device, std::string_view driver) {
  KubeDevice out{.name = kube_text(device, "name"), .attributes = {}, .capacity = {}, .why_not = {}};
  read_attributes(device, driver, out);
  each_of(device, "consumesCounters", [&](const dom::object&) { out.why_not = "is a part of another device"; });
  if (kube_flag(device, "allowMultipleAllocations")) out.why_not = "is shared among claims";
  if (has_field(device, "bindingConditions")) out.why_not = "has to be made ready";
  each_of(device, "taints", [&](const dom::object& taint) {
    if (kube_text(taint, "effect") != "None") out.why_not = fmt::format("is tainted ({})", kube_text(taint, "key"));
  });
  return out;
}

void read_conditions(const dom::object& holder, std::vector<KubeCondition>& out, std::string& not_understood) {
  each_of(holder, "selectors", [&](const dom::object& selector) {
    with_object(selector, "cel", [&](const dom::object& cel) {
      auto condition = KubeCondition::parse(kube_text(cel, "expression"));
      if (condition.ok())
        out.push_back(std::move(*condition));
      else
        not_understood = condition.error().message;
    });
  });
}

std::string raw(const dom::object& holder, std::string_view key) {
  dom::element value;
  if (holder[key].get(value) != simdjson::SUCCESS || !value.is_array()) return {};
  return simdjson::minify(value);
}

void read_request(const dom::object& request, KubeDeviceClaim& out) {
  KubeDeviceRequest one{.name = kube_text(request, "name"), .kind = {}, .conditions = {}};
  if (has_field(request, "firstAvailable")) out.not_understood = "a request with alternatives (firstAvailable)";
  with_object(request, "exactly", [&](const dom::object& exactly) {
    one.kind = kube_text(exactly, "deviceClassName");
    const std::string mode = kube_text(exactly, "allocationMode");
    one.count = mode == "All" ? 0 : std::max<int64_t>(1, kube_integer(exactly, "count").value_or(1));
    if (mode != "All" && mode != "ExactCount" && !mode.empty())
      out.not_understood = fmt::format("allocationMode {}", excerpt(mode));
    if (kube_flag(exactly, "adminAccess")) out.not_understood = "adminAccess";
    if (has_field(exactly, "capacity")) out.not_understood = "a part of a device's capacity";
    read_conditions(exactly, one.conditions, out.not_understood);
  });
  out.requests.push_back(std::move(one));
}

void read_claimed(const dom::object& devices, KubeDeviceClaim& out) {
  each_of(devices, "requests", [&](const dom::object& request) { read_request(request, out); });
  each_of(devices, "constraints", [&](const dom::object& rule) {
    KubeDeviceRule one{.requests = kube_texts(rule, "requests"), .attribute = kube_text(rule, "matchAttribute")};
    if (one.attribute.empty()) {
      one.attribute = kube_text(rule, "distinctAttribute");
      one.differ = true;
    }
    if (one.attribute.empty()) out.not_understood = "a constraint on devices";
    out.rules.push_back(std::move(one));
  });
  out.config = raw(devices, "config");
}

}  // namespace

KubeDeviceSlice read_device_slice(const dom::object& root, KubernetesMeta meta) {
  KubeDeviceSlice out{.meta = std::move(meta), .driver = {}, .pool = {}, .node = {}, .devices = {}};
  with_object(root, "spec", [&](const dom::object& spec) {
    out.driver = kube_text(spec, "driver");
    out.node = kube_text(spec, "nodeName");
    with_object(spec, "pool", [&](const dom::object& pool) {
      out.pool = kube_text(pool, "name");
      out.generation = kube_integer(pool, "generation").value_or(0);
      out.slices = kube_integer(pool, "resourceSliceCount").value_or(1);
    });
    each_of(spec, "devices", [&](const dom::object& device) { out.devices.push_back(read_device(device, out.driver)); });
  });
  return out;
}

KubeDeviceClass read_device_class(const dom::object& root, KubernetesMeta meta) {
  KubeDeviceClass out{.meta = std::move(meta), .conditions = {}, .config = {}, .not_understood = {}};
  with_object(root, "spec", [&](const dom::object& spec) {
    read_conditions(spec, out.conditions, out.not_understood);
    out.config = raw(spec, "config");
  });
  return out;
}

KubeDeviceClaim read_device_claim(const dom::object& root, KubernetesMeta meta) {
  KubeDeviceClaim out;
  out.meta = std::move(meta);
  with_object(root, "metadata", [&](const dom::object& m) {
    out.version = kube_text(m, "resourceVersion");
    out.deleting = has_field(m, "deletionTimestamp");
    out.marks = kube_texts(m, "finalizers");
    out.is_kept = std::ranges::find(out.marks, kKubeClaimKept) != out.marks.end();
  });
  with_object(root, "spec", [&](const dom::object& spec) {
    out.print = simdjson::minify(spec);
    with_object(spec, "devices", [&](const dom::object& devices) { read_claimed(devices, out); });
  });
  with_object(root, "status", [&](const dom::object& status) {
    each_of(status, "reservedFor", [&](const dom::object& who) { out.reserved_for.push_back(kube_text(who, "uid")); });
    out.users = raw(status, "reservedFor");
    with_object(status, "allocation", [&](const dom::object& allocation) {
      out.is_allocated = true;
      with_object(allocation, "devices", [&](const dom::object& devices) {
        each_of(devices, "results", [&](const dom::object& one) {
          out.allocated.push_back(
              {kube_text(one, "request"), {kube_text(one, "driver"), kube_text(one, "pool"), kube_text(one, "device")}});
        });
      });
      with_object(allocation, "nodeSelector", [&](const dom::object& selector) {
        each_of(selector, "nodeSelectorTerms", [&](const dom::object& term) { out.nodes.push_back(read_node_term(term)); });
      });
    });
  });
  return out;
}

}  // namespace stint::kube_fields
