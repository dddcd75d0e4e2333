// One machine as Azure Resource Manager is asked for it: the body of its PUT. Pure.
//
// Network interface and disk are made and deleted with the machine; spot machines are deleted when they are taken back.
// Source: Compute Resource Provider, "Virtual Machines - Create Or Update", 2024-07-01.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stint {

inline constexpr std::string_view kAzureComputeVersion = "2024-07-01";

struct AzureMachine {
  std::string name;  ///< unique in the resource group
  std::string location;
  std::string zone;   ///< "1", "2", "3"; "" = Azure picks
  std::string size;   ///< `Standard_NC24ads_A100_v4`
  std::string image;  ///< an id (`/subscriptions/…`) or `publisher:offer:sku:version`
  int64_t disk_gib = 100;
  std::string subnet;          ///< its id
  std::string security_group;  ///< its id; "" = the subnet's
  std::string user, ssh_key;
  std::string identity;  ///< id of a user-assigned managed identity; "" = none
  bool spot = false;
  std::string most_per_hour;  ///< of spot, in dollars; "" = the on-demand price
  std::vector<std::pair<std::string, std::string>> tags;
  std::string user_data;  ///< as cloud-init reads it, not encoded
};

/// JSON. The same machine gives the same bytes.
std::string azure_machine_body(const AzureMachine& machine);

/// A script by which a machine of Azure deletes itself, by a token of its identity, which may delete it: one that only shuts down goes on
/// costing. Source: "How to use managed identities for Azure resources on an Azure VM to acquire an access token".
std::string azure_give_back_script();

/// `publisher:offer:sku:version` or an id of an image?
bool is_azure_image(std::string_view image);

}  // namespace stint
