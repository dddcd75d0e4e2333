#include "clouds/azure_machines.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "clouds/json_member.h"

namespace stint {
namespace {

using AzureAnswer = nlohmann::json;

struct AzureCode {
  std::string_view code;
  CloudFailure failure;
};

// "Resolve errors for allocation failures", "Resolve errors for SKU not available", "Common Azure deployment errors".
constexpr std::array kAzureCodes = {
    AzureCode{"AllocationFailed", CloudFailure::kStockout},
    AzureCode{"ZonalAllocationFailed", CloudFailure::kStockout},
    AzureCode{"OverconstrainedAllocationRequest", CloudFailure::kStockout},
    AzureCode{"OverconstrainedZonalAllocationRequest", CloudFailure::kStockout},
    AzureCode{"SkuNotAvailable", CloudFailure::kStockout},
    AzureCode{"SubnetIsFull", CloudFailure::kStockout},
    AzureCode{"ResourceQuotaExceeded", CloudFailure::kQuota},
    AzureCode{"InvalidAuthenticationToken", CloudFailure::kCredential},
    AzureCode{"ExpiredAuthenticationToken", CloudFailure::kCredential},
    AzureCode{"AuthorizationFailed", CloudFailure::kForbidden},
    AzureCode{"LinkedAuthorizationFailed", CloudFailure::kForbidden},
    AzureCode{"RequestDisallowedByPolicy", CloudFailure::kForbidden},
    AzureCode{"TooManyRequests", CloudFailure::kThrottled},
    AzureCode{"SubscriptionRequestsThrottled", CloudFailure::kThrottled},
    AzureCode{"AnotherOperationInProgress", CloudFailure::kServer},
    AzureCode{"RetryableError", CloudFailure::kServer},
    AzureCode{"InternalServerError", CloudFailure::kServer},
    AzureCode{"InternalExecutionError", CloudFailure::kServer},
    AzureCode{"OperationPreempted", CloudFailure::kServer},
    AzureCode{"ResourceNotFound", CloudFailure::kNotFound},
};

CloudFailure classify_azure(int status, const std::string& code, const std::string& message) {
  for (const AzureCode& known : kAzureCodes)
    if (known.code == code) return known.failure;
  // The same code says that a quota is used up, and that there were too many requests.
  if (code == "OperationNotAllowed" || code == "Conflict") {
    const std::string words = to_lower(message);
    if (words.find("quota") != std::string::npos || words.find("core") != std::string::npos) return CloudFailure::kQuota;
    if (words.find("too many requests") != std::string::npos) return CloudFailure::kThrottled;
    if (code == "OperationNotAllowed") return CloudFailure::kRequest;
  }
  return classify_failure(status, code);
}

Result<AzureAnswer> azure_object(std::string_view text) {
  AzureAnswer json = AzureAnswer::parse(text, nullptr, false);
  if (!json.is_object()) return invalid("the answer of Azure is no JSON object: {}", excerpt(text, 80));
  return json;
}

const AzureAnswer& azure_member(const AzureAnswer& object, const char* name) {
  static const AzureAnswer kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}

/// `error` with the reason that lies innermost: an order's error often wraps the one that says why.
CloudFault azure_fault(int status, const AzureAnswer& error) {
  CloudFault fault{
      .failure = CloudFailure::kServer, .code = text_member(error, "code"), .message = text_member(error, "message")};
  if (const AzureAnswer& details = azure_member(error, "details"); details.is_array() && !details.empty())
    if (const std::string inner = text_member(details.front(), "code"); !inner.empty() && fault.code == "DeploymentFailed") {
      fault.code = inner;
      fault.message = text_member(details.front(), "message");
    }
  if (fault.code.empty() && fault.message.empty()) fault.message = fmt::format("HTTP {}", status);
  fault.failure = classify_azure(status, fault.code, fault.message);
  return fault;
}

AzureState azure_state(const AzureAnswer& properties) {
  const std::string provisioning = text_member(properties, "provisioningState");
  if (provisioning == "Deleting") return AzureState::kGoing;
  if (provisioning == "Failed" || provisioning == "Canceled") return AzureState::kFailed;
  bool is_running = false;
  if (const AzureAnswer& statuses = azure_member(azure_member(properties, "instanceView"), "statuses"); statuses.is_array())
    for (const AzureAnswer& each : statuses) {
      const std::string code = text_member(each, "code");
      if (code == "PowerState/stopped" || code == "PowerState/deallocated") return AzureState::kStopped;
      if (code == "PowerState/stopping" || code == "PowerState/deallocating") return AzureState::kGoing;
      is_running |= code == "PowerState/running";
    }
  return is_running && provisioning != "Creating" ? AzureState::kRunning : AzureState::kComing;
}

Result<AzureVm> azure_vm_of(const AzureAnswer& json) {
  const AzureAnswer& properties = azure_member(json, "properties");
  AzureVm vm{.id = text_member(properties, "vmId"),
             .name = text_member(json, "name"),
             .location = text_member(json, "location"),
             .state = azure_state(properties),
             .spot = text_member(properties, "priority") == "Spot",
             .tags = {}};
  if (vm.name.empty()) return invalid("the answer of Azure has a machine without a name");
  if (const AzureAnswer& tags = azure_member(json, "tags"); tags.is_object())
    for (const auto& [key, value] : tags.items())
      if (value.is_string()) vm.tags.emplace(key, value.get<std::string>());
  return vm;
}

double azure_number(const AzureAnswer& object, const char* name) {
  const AzureAnswer& value = azure_member(object, name);
  return value.is_number() ? value.get<double>() : 0;
}

}  // namespace

Result<AzureVm> parse_azure_vm(std::string_view text) {
  TRY_ASSIGN(const AzureAnswer json, azure_object(text));
  return azure_vm_of(json);
}

Result<AzureVms> parse_azure_vms(std::string_view text) {
  TRY_ASSIGN(const AzureAnswer json, azure_object(text));
  AzureVms page{.machines = {}, .next = text_member(json, "nextLink")};
  const AzureAnswer& value = azure_member(json, "value");
  if (!value.is_array()) return invalid("the answer of Azure is no list of machines: {}", excerpt(text, 80));
  for (const AzureAnswer& each : value) {
    TRY_ASSIGN(AzureVm vm, azure_vm_of(each));
    page.machines.push_back(std::move(vm));
  }
  return page;
}

Result<AzureOperation> parse_azure_operation(std::string_view text) {
  TRY_ASSIGN(const AzureAnswer json, azure_object(text));
  const std::string status = text_member(json, "status");
  if (status.empty()) return invalid("the answer of Azure is no operation: {}", excerpt(text, 80));
  AzureOperation operation{.done = status == "Succeeded" || status == "Failed" || status == "Canceled", .fault = {}};
  // The status of the answer is 200 whatever became of the operation.
  if (operation.done && status != "Succeeded") operation.fault = azure_fault(409, azure_member(json, "error"));
  return operation;
}

Result<AzureUsages> parse_azure_usages(std::string_view text) {
  TRY_ASSIGN(const AzureAnswer json, azure_object(text));
  AzureUsages page{.usages = {}, .next = text_member(json, "nextLink")};
  if (const AzureAnswer& value = azure_member(json, "value"); value.is_array())
    for (const AzureAnswer& each : value)
      page.usages.push_back({.name = text_member(azure_member(each, "name"), "value"),
                             .limit = azure_number(each, "limit"),
                             .usage = azure_number(each, "currentValue")});
  return page;
}

CloudFault parse_azure_api_error(int status, std::string_view body) {
  const AzureAnswer json = AzureAnswer::parse(body, nullptr, false);
  return azure_fault(status, azure_member(json, "error"));
}

}  // namespace stint
