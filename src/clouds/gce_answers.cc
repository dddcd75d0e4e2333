#include "clouds/gce_answers.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "clouds/json_member.h"

namespace stint {
namespace {

using GceAnswer = nlohmann::json;

struct GceCode {
  std::string_view begins;  ///< codes grow at their end: ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS
  CloudFailure failure;
};

// "Troubleshooting resource availability errors", "Troubleshoot creating VMs"; skypilot-org/skypilot#831, #4333.
constexpr std::array kGceCodes = {
    GceCode{"ZONE_RESOURCE_POOL_EXHAUSTED", CloudFailure::kStockout},
    GceCode{"REGION_RESOURCE_POOL_EXHAUSTED", CloudFailure::kStockout},
    GceCode{"GCE_STOCKOUT", CloudFailure::kStockout},
    GceCode{"STOCKOUT", CloudFailure::kStockout},
    GceCode{"VM_MIN_COUNT_NOT_REACHED", CloudFailure::kStockout},
    GceCode{"IP_SPACE_EXHAUSTED", CloudFailure::kStockout},
    GceCode{"UNSUPPORTED_OPERATION", CloudFailure::kRequest},
    GceCode{"QUOTA_EXCEEDED", CloudFailure::kQuota},
    GceCode{"quotaExceeded", CloudFailure::kQuota},
    GceCode{"RESOURCE_QUOTA_EXCEEDED", CloudFailure::kQuota},
    GceCode{"RATE_LIMIT_EXCEEDED", CloudFailure::kThrottled},
    GceCode{"RESOURCE_OPERATION_RATE_EXCEEDED", CloudFailure::kThrottled},
    GceCode{"RESOURCE_ALREADY_EXISTS", CloudFailure::kConflict},
    GceCode{"PERMISSION", CloudFailure::kForbidden},
    GceCode{"INTERNAL_ERROR", CloudFailure::kServer},
    GceCode{"RESOURCE_NOT_READY", CloudFailure::kServer},
};

GceState gce_state(std::string_view status) {
  if (status == "RUNNING") return GceState::kRunning;
  if (status == "PENDING" || status == "PROVISIONING" || status == "STAGING" || status == "REPAIRING") return GceState::kComing;
  // A machine that stands still keeps its disks, which cost.
  if (status == "TERMINATED" || status == "STOPPED" || status == "SUSPENDED") return GceState::kStopped;
  return GceState::kStopping;
}

std::string gce_last_part(std::string_view url) { return std::string(url.substr(url.rfind('/') + 1)); }

GceInstance gce_instance_of(const GceAnswer& json) {
  GceInstance instance{.id = text_member(json, "id"),
                       .name = text_member(json, "name"),
                       .zone = gce_last_part(text_member(json, "zone")),
                       .state = gce_state(text_member(json, "status"))};
  if (const auto scheduling = json.find("scheduling"); scheduling != json.end())
    instance.spot = text_member(*scheduling, "provisioningModel") == "SPOT";
  if (const auto labels = json.find("labels"); labels != json.end() && labels->is_object())
    for (const auto& [key, value] : labels->items())
      if (value.is_string()) instance.labels.emplace(key, value.get<std::string>());
  return instance;
}

/// A member that is a list; empty for anything else.
const GceAnswer& gce_list(const GceAnswer& object, const char* name) {
  static const GceAnswer kNone = GceAnswer::array();
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && found->is_array() ? *found : kNone;
}

Result<GceAnswer> gce_object(std::string_view text) {
  GceAnswer json = GceAnswer::parse(text, nullptr, false);
  if (!json.is_object()) return invalid("the answer of Compute Engine is no JSON object: {}", excerpt(text, 80));
  return json;
}

double gce_number(const GceAnswer& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

CloudFailure classify_gce_operation(std::string_view code) {
  for (const GceCode& known : kGceCodes)
    if (code.starts_with(known.begins)) return known.failure;
  return CloudFailure::kRequest;
}

Result<GceInstances> parse_gce_instances(std::string_view text) {
  TRY_ASSIGN(const GceAnswer json, gce_object(text));
  GceInstances page{.instances = {}, .next = text_member(json, "nextPageToken"), .complete = true};
  page.complete = gce_list(json, "unreachables").empty();
  const auto items = json.find("items");
  if (items == json.end() || !items->is_object()) return page;
  for (const auto& [scope, zone] : items->items())
    for (const GceAnswer& each : gce_list(zone, "instances")) {
      GceInstance instance = gce_instance_of(each);
      if (instance.zone.empty()) instance.zone = gce_last_part(scope);
      if (instance.name.empty()) return invalid("the answer of Compute Engine has a machine without a name");
      page.instances.push_back(std::move(instance));
    }
  return page;
}

Result<GceOperation> parse_gce_operation(std::string_view text) {
  TRY_ASSIGN(const GceAnswer json, gce_object(text));
  GceOperation operation{.name = text_member(json, "name"),
                         .zone = gce_last_part(text_member(json, "zone")),
                         .target = text_member(json, "targetId"),
                         .done = text_member(json, "status") == "DONE",
                         .fault = {}};
  if (operation.name.empty()) return invalid("the answer of Compute Engine is no operation: {}", excerpt(text, 80));
  const auto error = json.find("error");
  if (error == json.end()) return operation;
  CloudFault fault{.failure = CloudFailure::kServer, .code = {}, .message = text_member(json, "httpErrorMessage")};
  if (const GceAnswer& errors = gce_list(*error, "errors"); !errors.empty()) {
    fault.code = text_member(errors.front(), "code");
    fault.message = text_member(errors.front(), "message");
    fault.failure = classify_gce_operation(fault.code);
  }
  operation.fault = std::move(fault);
  return operation;
}

Result<GceSoldPage> parse_gce_sold(std::string_view text) {
  TRY_ASSIGN(const GceAnswer json, gce_object(text));
  GceSoldPage page{.sold = {}, .next = text_member(json, "nextPageToken")};
  const auto items = json.find("items");
  if (items == json.end() || !items->is_object()) return page;
  for (const auto& [scope, zone] : items->items())
    for (const GceAnswer& each : gce_list(zone, "machineTypes"))
      page.sold.push_back({.machine_type = text_member(each, "name"), .zone = gce_last_part(scope)});
  return page;
}

Result<std::vector<GceQuota>> parse_gce_quotas(std::string_view text) {
  TRY_ASSIGN(const GceAnswer json, gce_object(text));
  std::vector<GceQuota> quotas;
  for (const GceAnswer& each : gce_list(json, "quotas"))
    if (each.is_object())
      quotas.push_back(
          {.metric = text_member(each, "metric"), .limit = gce_number(each, "limit"), .usage = gce_number(each, "usage")});
  return quotas;
}

std::string gce_gpu_quota(std::string_view gpu_model, bool spot) {
  struct Named {
    std::string_view model, metric;
  };
  constexpr std::array kNamed = {Named{"A100-40GB", "NVIDIA_A100_GPUS"}, Named{"A100-80GB", "NVIDIA_A100_80GB_GPUS"},
                                 Named{"H100-80GB", "NVIDIA_H100_GPUS"}, Named{"L4", "NVIDIA_L4_GPUS"},
                                 Named{"T4", "NVIDIA_T4_GPUS"},          Named{"V100-16GB", "NVIDIA_V100_GPUS"},
                                 Named{"P100", "NVIDIA_P100_GPUS"},      Named{"P4", "NVIDIA_P4_GPUS"},
                                 Named{"K80", "NVIDIA_K80_GPUS"}};
  // Of H100 the discovery document has the quota of spot machines alone.
  if (gpu_model == "H100-80GB" && !spot) return "";
  for (const Named& named : kNamed)
    if (named.model == gpu_model) return (spot ? "PREEMPTIBLE_" : "") + std::string(named.metric);
  return "";
}

CloudFault parse_gce_error(int status, std::string_view body) {
  CloudFault fault;
  const GceAnswer json = GceAnswer::parse(body, nullptr, false);
  if (json.is_object())
    if (const auto error = json.find("error"); error != json.end() && error->is_object()) {
      fault.message = text_member(*error, "message");
      if (const GceAnswer& errors = gce_list(*error, "errors"); !errors.empty())
        fault.code = text_member(errors.front(), "reason");
      if (fault.code.empty()) fault.code = text_member(*error, "status");
    }
  if (fault.code.empty() && fault.message.empty()) fault.message = fmt::format("HTTP {}", status);
  // A refusal may name what an operation would.
  const CloudFailure as_operation = classify_gce_operation(fault.code);
  fault.failure = as_operation == CloudFailure::kRequest ? classify_failure(status, fault.code) : as_operation;
  return fault;
}

}  // namespace stint
