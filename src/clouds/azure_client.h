// Machines of Azure in one resource group: made, found by their tags, and ended; what a location's quotas leave.
//
// Source: Compute Resource Provider 2024-07-01: "Virtual Machines - Create Or Update", "List", "Delete"; "Usage - List".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "clouds/azure_machine.h"
#include "clouds/azure_machines.h"
#include "clouds/cloud_api.h"

namespace stint {

struct AzureClientOptions {
  std::string subscription, resource_group;
  Environment environment = process_environment();
  int tries = 3;  ///< of one request
  /// An operation is looked at so often, and given up after so long: what became of it is not known then.
  Duration look_every = Duration::seconds(2), patience = Duration::seconds(90);
  std::function<void(Duration)> sleep;
  std::function<bool()> stopping;
};

/// For any number of threads.
class AzureClient {
 public:
  /// At STINT_AZURE_MANAGEMENT_ADDRESS, or Azure's. An address that is none fails with each request.
  explicit AzureClient(AzureClientOptions options);

  /// One machine; told twice, the same. Waits until Azure has found a place for it, or says why not; what an order that failed has
  /// left (the machine's entry, its interface, its disk) is deleted then.
  std::optional<OrderFailure> put(const AzureMachine& machine);
  /// All pages of the resource group. @return error when a page cannot be had.
  Result<std::vector<AzureVm>> list();
  /// It is gone, or goes; no error when it is not there.
  std::optional<OrderFailure> remove(const std::string& name);
  Result<std::vector<AzureUsage>> usages(const std::string& location);

  [[nodiscard]] Instant now() const { return api_.now(); }

 private:
  AzureClient(const Result<std::string>& address, AzureClientOptions options);
  [[nodiscard]] std::string machine_url(const std::string& name) const;
  std::optional<OrderFailure> outcome_of(const std::string& operation_url, const std::string& what);
  /// May the token be sent there? A page or an operation lies where the API does.
  [[nodiscard]] bool is_ours(const std::string& url) const;

  std::string address_;  ///< without a slash at the end
  std::string base_;     ///< to the subscription
  AzureClientOptions options_;
  CloudApi api_;
};

}  // namespace stint
