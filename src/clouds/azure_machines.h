// What Azure Resource Manager answers of machines, as values. Pure.
// Source: Compute Resource Provider 2024-07-01; "Track asynchronous Azure operations"; "Resolve errors for allocation failures".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "clouds/cloud_http.h"

namespace stint {

enum class AzureState : uint8_t {
  kComing,
  kRunning,
  kGoing,
  kStopped,  ///< stands still, allocated or not: disks and perhaps the machine go on costing
  kFailed,   ///< what an order that failed has left
};

struct AzureVm {
  std::string id;  ///< Azure's of this very machine (`vmId`)
  std::string name, location;
  AzureState state = AzureState::kComing;
  bool spot = false;
  std::map<std::string, std::string> tags;
};

struct AzureVms {
  std::vector<AzureVm> machines;
  std::string next;  ///< address of the next page; "" = this was the last
};
/// "Virtual Machines - List", with `$expand=instanceView`.
Result<AzureVms> parse_azure_vms(std::string_view json);
/// One machine, as its PUT or GET answers.
Result<AzureVm> parse_azure_vm(std::string_view json);

struct AzureOperation {
  bool done = false;
  std::optional<CloudFault> fault;
};
/// What `Azure-AsyncOperation` answers.
Result<AzureOperation> parse_azure_operation(std::string_view json);

/// So many cores of a kind may be in use at once: `lowPriorityCores`, `cores`, `standardNCADSA100v4Family`.
struct AzureUsage {
  std::string name;
  double limit = 0, usage = 0;
};
struct AzureUsages {
  std::vector<AzureUsage> usages;
  std::string next;
};
/// "Usage - List".
Result<AzureUsages> parse_azure_usages(std::string_view json);

/// An answer that is no success.
CloudFault parse_azure_api_error(int status, std::string_view body);

}  // namespace stint
