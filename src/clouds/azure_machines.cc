#include "clouds/azure_machines.h"

#include <simdjson.h>

#include <array>

#include "base/text.h"

namespace stint {
namespace {

// A list holds all that its machines were ordered with, several KiB of each: what is of no use is not to cost time.
namespace dom = simdjson::dom;
/// A value, or that there is none: what is asked of none is none.
using AzureAnswer = simdjson::simdjson_result<dom::element>;

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

/// @param parser  holds the answer.
Result<AzureAnswer> azure_object(dom::parser& parser, std::string_view text) {
  AzureAnswer json = parser.parse(text.data(), text.size());
  if (!json.is_object()) return invalid("the answer of Azure is no JSON object: {}", excerpt(text, 80));
  return json;
}

/// "" for what is no text.
std::string azure_text(const AzureAnswer& object, std::string_view name) {
  std::string_view text;
  return object[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

/// @param take  called with each of a list; with none of what is no list.
template <typename Take>
void each_of_list(const AzureAnswer& list, Take take) {
  if (dom::array array; list.get(array) == simdjson::SUCCESS)
    for (dom::element each : array)
      take(AzureAnswer(std::move(each)));
}

/// `error` with the reason that lies innermost: an order's error often wraps the one that says why.
CloudFault azure_fault(int status, const AzureAnswer& error) {
  CloudFault fault{.failure = CloudFailure::kServer, .code = azure_text(error, "code"), .message = azure_text(error, "message")};
  const AzureAnswer first = error["details"].at(0);
  if (const std::string inner = azure_text(first, "code"); !inner.empty() && fault.code == "DeploymentFailed") {
    fault.code = inner;
    fault.message = azure_text(first, "message");
  }
  if (fault.code.empty() && fault.message.empty()) fault.message = fmt::format("HTTP {}", status);
  fault.failure = classify_azure(status, fault.code, fault.message);
  return fault;
}

AzureState azure_state(const AzureAnswer& properties) {
  const std::string provisioning = azure_text(properties, "provisioningState");
  if (provisioning == "Deleting") return AzureState::kGoing;
  if (provisioning == "Failed" || provisioning == "Canceled") return AzureState::kFailed;
  std::string power;
  each_of_list(properties["instanceView"]["statuses"], [&](const AzureAnswer& each) {
    if (std::string code = azure_text(each, "code"); code.starts_with("PowerState/")) power = std::move(code);
  });
  if (power == "PowerState/stopped" || power == "PowerState/deallocated") return AzureState::kStopped;
  if (power == "PowerState/stopping" || power == "PowerState/deallocating") return AzureState::kGoing;
  return power == "PowerState/running" && provisioning != "Creating" ? AzureState::kRunning : AzureState::kComing;
}

Result<AzureVm> azure_vm_of(const AzureAnswer& json) {
  const AzureAnswer properties = json["properties"];
  AzureVm vm{.id = azure_text(properties, "vmId"),
             .name = azure_text(json, "name"),
             .location = azure_text(json, "location"),
             .state = azure_state(properties),
             .spot = azure_text(properties, "priority") == "Spot",
             .tags = {}};
  if (vm.name.empty()) return invalid("the answer of Azure has a machine without a name");
  dom::object tags;
  if (json["tags"].get(tags) == simdjson::SUCCESS)
    for (const auto& [key, value] : tags)
      if (std::string_view text; value.get(text) == simdjson::SUCCESS) vm.tags.emplace(key, text);
  return vm;
}

double azure_number(const AzureAnswer& object, std::string_view name) {
  double value = 0;
  return object[name].get(value) == simdjson::SUCCESS ? value : 0;
}

}  // namespace

Result<AzureVm> parse_azure_vm(std::string_view text) {
  dom::parser parser;
  TRY_ASSIGN(const AzureAnswer json, azure_object(parser, text));
  return azure_vm_of(json);
}

Result<AzureVms> parse_azure_vms(std::string_view text) {
  dom::parser parser;
  TRY_ASSIGN(const AzureAnswer json, azure_object(parser, text));
  AzureVms page{.machines = {}, .next = azure_text(json, "nextLink")};
  if (!json["value"].is_array()) return invalid("the answer of Azure is no list of machines: {}", excerpt(text, 80));
  Status read;
  each_of_list(json["value"], [&](const AzureAnswer& each) {
    auto vm = azure_vm_of(each);
    if (vm.ok())
      page.machines.push_back(std::move(*vm));
    else
      read = vm.error();
  });
  TRY(read);
  return page;
}

Result<AzureOperation> parse_azure_operation(std::string_view text) {
  dom::parser parser;
  TRY_ASSIGN(const AzureAnswer json, azure_object(parser, text));
  const std::string status = azure_text(json, "status");
  if (status.empty()) return invalid("the answer of Azure is no operation: {}", excerpt(text, 80));
  AzureOperation operation{.done = status == "Succeeded" || status == "Failed" || status == "Canceled", .fault = {}};
  // The status of the answer is 200 whatever became of the operation.
  if (operation.done && status != "Succeeded") operation.fault = azure_fault(409, json["error"]);
  return operation;
}

Result<AzureUsages> parse_azure_usages(std::string_view text) {
  dom::parser parser;
  TRY_ASSIGN(const AzureAnswer json, azure_object(parser, text));
  AzureUsages page{.usages = {}, .next = azure_text(json, "nextLink")};
  each_of_list(json["value"], [&](const AzureAnswer& usage) {
    page.usages.push_back({.name = azure_text(usage["name"], "value"),
                           .limit = azure_number(usage, "limit"),
                           .usage = azure_number(usage, "currentValue")});
  });
  return page;
}

CloudFault parse_azure_api_error(int status, std::string_view body) {
  dom::parser parser;
  const AzureAnswer json = parser.parse(body.data(), body.size());
  return azure_fault(status, json["error"]);
}

}  // namespace stint
