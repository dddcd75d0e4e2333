#include "clouds/azure_client.h"

#include "base/text.h"
#include "clouds/azure_credentials.h"

namespace stint {
namespace {

constexpr const char* kAzureAddress = "https://management.azure.com";
constexpr const char* kAzureAddressVariable = "STINT_AZURE_MANAGEMENT_ADDRESS";
constexpr size_t kMostAzurePages = 10'000;

std::string azure_remedy(CloudFailure failure, const std::string& source) {
  switch (failure) {
    case CloudFailure::kCredential: return fmt::format("the token comes from {}: check it, and the clock", source);
    case CloudFailure::kForbidden:
      return fmt::format("the token comes from {}: give it the role Virtual Machine Contributor in the resource group", source);
    case CloudFailure::kNetwork: return fmt::format("check the network, and {} where it is set", kAzureAddressVariable);
    case CloudFailure::kQuota: return "ask Azure for a higher one (Quotas, My quotas), or name other sizes or locations";
    default: return "";
  }
}

OrderFailure azure_open_end(std::string text) {
  return {.failure = CloudFailure::kNetwork, .may_be_done = true, .text = std::move(text)};
}

}  // namespace

AzureClient::AzureClient(AzureClientOptions options)
    : AzureClient(api_address(kAzureAddressVariable, options.environment(kAzureAddressVariable), kAzureAddress), options) {}

AzureClient::AzureClient(const Result<std::string>& address, AzureClientOptions options)
    : address_(address.ok() ? *address : ""),
      base_(fmt::format("{}/subscriptions/{}", address_, escape_url(options.subscription))),
      options_(std::move(options)),
      api_(azure_tokens(kAzureManagement, options_.environment), {.address = address.ok() ? Status() : Status(address.error()),
                                                                  .tries = options_.tries,
                                                                  .sleep = options_.sleep,
                                                                  .stopping = options_.stopping,
                                                                  .read_fault = parse_azure_api_error,
                                                                  .remedy = azure_remedy}) {}

bool AzureClient::is_ours(const std::string& url) const { return url.starts_with(address_ + "/"); }

std::string AzureClient::machine_url(const std::string& name) const {
  return fmt::format("{}/resourceGroups/{}/providers/Microsoft.Compute/virtualMachines{}{}", base_,
                     escape_url(options_.resource_group), name.empty() ? "" : "/", escape_url(name));
}

std::optional<OrderFailure> AzureClient::outcome_of(const std::string& operation_url, const std::string& what) {
  if (!is_ours(operation_url)) return azure_open_end(fmt::format("{}: its operation lies elsewhere", what));
  const Instant until = api_.now() + options_.patience;
  for (;;) {
    if (!api_.pause(options_.look_every) || api_.now() > until) return azure_open_end(what + ": not done yet");
    OrderFailure failure;
    const auto response = api_.send({.url = operation_url, .body = {}, .what = what}, failure);
    const auto operation = response.ok() ? parse_azure_operation(response->body) : Result<AzureOperation>(response.error());
    if (!operation.ok()) return azure_open_end(operation.error().message);
    if (!operation->done) continue;
    if (!operation->fault) return std::nullopt;
    const CloudFault& fault = *operation->fault;
    const std::string remedy = azure_remedy(fault.failure, "Azure");
    return OrderFailure{.failure = fault.failure,
                        .may_be_done = fault.failure == CloudFailure::kServer,
                        .text = fmt::format("{}: {} ({}: {}){}{}", what, name_of(fault.failure), excerpt(fault.code),
                                            excerpt(fault.message, 300), remedy.empty() ? "" : ": ", remedy)};
  }
}

std::optional<OrderFailure> AzureClient::put(const AzureMachine& machine) {
  const std::string what = fmt::format("Azure virtual machine {} in {}", machine.size, machine.location);
  OrderFailure failure;
  const auto response = api_.send({.method = "PUT",
                                   .url = fmt::format("{}?api-version={}", machine_url(machine.name), kAzureComputeVersion),
                                   .body = azure_machine_body(machine),
                                   .what = what},
                                  failure);
  if (!response.ok()) return failure;
  const std::string* operation = response->header("azure-asyncoperation");
  if (operation == nullptr) return std::nullopt;  // it was there, as it was ordered
  auto failed = outcome_of(*operation, what);
  if (failed && !failed->may_be_done)
    if (const auto left = remove(machine.name)) failed->text += "; what it left is not deleted yet: " + left->text;
  return failed;
}

Result<std::vector<AzureVm>> AzureClient::list() {
  std::vector<AzureVm> all;
  std::string url =
      fmt::format("{}?api-version={}&{}=instanceView", machine_url(""), kAzureComputeVersion, escape_url("$expand"));
  for (size_t page = 0; page < kMostAzurePages; ++page) {
    OrderFailure failure;
    TRY_ASSIGN(const HttpResponse response,
               api_.send({.url = url, .body = {}, .what = "Azure virtual machines of " + options_.resource_group}, failure));
    TRY_ASSIGN(AzureVms read, parse_azure_vms(response.body));
    std::move(read.machines.begin(), read.machines.end(), std::back_inserter(all));
    if (read.next.empty()) return all;
    if (read.next == url || !is_ours(read.next)) break;
    url = std::move(read.next);
  }
  return make_error(ErrorCode::kUnavailable, "Azure's list of {} has no end, or goes on elsewhere", options_.resource_group);
}

std::optional<OrderFailure> AzureClient::remove(const std::string& name) {
  OrderFailure failure;
  const auto response =
      api_.send({.method = "DELETE",
                 .url = fmt::format("{}?api-version={}&forceDeletion=true", machine_url(name), kAzureComputeVersion),
                 .body = {},
                 .what = "Azure deletion of " + name},
                failure);
  if (response.ok() || failure.failure == CloudFailure::kNotFound) return std::nullopt;
  return failure;
}

Result<std::vector<AzureUsage>> AzureClient::usages(const std::string& location) {
  std::vector<AzureUsage> all;
  std::string url = fmt::format("{}/providers/Microsoft.Compute/locations/{}/usages?api-version={}", base_, escape_url(location),
                                kAzureComputeVersion);
  for (size_t page = 0; page < kMostAzurePages; ++page) {
    OrderFailure failure;
    TRY_ASSIGN(const HttpResponse response, api_.send({.url = url, .body = {}, .what = "Azure usages of " + location}, failure));
    TRY_ASSIGN(AzureUsages read, parse_azure_usages(response.body));
    std::move(read.usages.begin(), read.usages.end(), std::back_inserter(all));
    if (read.next.empty()) return all;
    if (read.next == url || !is_ours(read.next)) break;
    url = std::move(read.next);
  }
  return make_error(ErrorCode::kUnavailable, "Azure's usages of {} have no end, or go on elsewhere", location);
}

}  // namespace stint
