#include "clouds/azure_machine.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "clouds/digests.h"

namespace stint {
namespace {

using AzureJson = nlohmann::ordered_json;

constexpr const char* kAzureHomes = "/home";
constexpr const char* kAzureNetworkVersion = "2020-11-01";  // of machines that make their interfaces themselves

AzureJson azure_image(const std::string& image) {
  if (image.starts_with('/')) return {{"id", image}};
  const auto parts = split(image, ':');
  AzureJson reference = AzureJson::object();
  constexpr const char* kNames[] = {"publisher", "offer", "sku", "version"};
  for (size_t i = 0; i < parts.size() && i < 4; ++i)
    reference[kNames[i]] = std::string(parts[i]);
  return reference;
}

AzureJson azure_network(const AzureMachine& machine) {
  AzureJson address = {{"name", "address"}, {"properties", {{"primary", true}, {"subnet", {{"id", machine.subnet}}}}}};
  AzureJson properties = {
      {"primary", true}, {"deleteOption", "Delete"}, {"ipConfigurations", AzureJson::array({std::move(address)})}};
  if (!machine.security_group.empty()) properties["networkSecurityGroup"] = {{"id", machine.security_group}};
  return {
      {"networkApiVersion", kAzureNetworkVersion},
      {"networkInterfaceConfigurations", AzureJson::array({{{"name", machine.name}, {"properties", std::move(properties)}}})}};
}

AzureJson azure_user(const AzureMachine& machine) {
  AzureJson key = {{"path", fmt::format("{}/{}/.ssh/authorized_keys", kAzureHomes, machine.user)}, {"keyData", machine.ssh_key}};
  AzureJson user = {{"computerName", machine.name},
                    {"adminUsername", machine.user},
                    {"linuxConfiguration",
                     {{"disablePasswordAuthentication", true}, {"ssh", {{"publicKeys", AzureJson::array({std::move(key)})}}}}}};
  if (!machine.user_data.empty()) user["customData"] = to_base64(machine.user_data);
  return user;
}

}  // namespace

std::string azure_give_back_script() {
  return fmt::format(
      "#!/bin/sh\n"
      "m=\"${{STINT_METADATA_ADDRESS:-http://169.254.169.254}}/metadata\"\n"
      "ask() {{ curl -fsS --max-time 60 --noproxy '*' -H 'Metadata: true' \"$1\"; }}\n"
      "id=$(ask \"$m/instance/compute/resourceId?api-version=2021-02-01&format=text\") || exit 1\n"
      "ask \"$m/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fmanagement.azure.com%2F\" |\n"
      "  sed -n 's/.*\"access_token\" *: *\"\\([^\"]*\\)\".*/Authorization: Bearer \\1/p' |\n"
      "  curl -fsS --max-time 60 -X DELETE -H @- "
      "\"${{STINT_AZURE_MANAGEMENT_ADDRESS:-https://management.azure.com}}$id?api-version={}&forceDeletion=true\"\n",
      kAzureComputeVersion);
}

bool is_azure_image(std::string_view image) {
  return image.starts_with("/subscriptions/") || image.starts_with("/CommunityGalleries/") ||
         image.starts_with("/SharedGalleries/") || split(image, ':').size() == 4;
}

std::string azure_machine_body(const AzureMachine& machine) {
  AzureJson disk = {{"createOption", "FromImage"}, {"deleteOption", "Delete"}, {"diskSizeGB", machine.disk_gib}};
  AzureJson properties = {{"hardwareProfile", {{"vmSize", machine.size}}},
                          {"storageProfile", {{"imageReference", azure_image(machine.image)}, {"osDisk", std::move(disk)}}},
                          {"osProfile", azure_user(machine)},
                          {"networkProfile", azure_network(machine)}};
  if (machine.spot) {
    properties["priority"] = "Spot";
    properties["evictionPolicy"] = "Delete";
    properties["billingProfile"] = {
        {"maxPrice", machine.most_per_hour.empty() ? -1.0 : std::strtod(machine.most_per_hour.c_str(), nullptr)}};
  }
  AzureJson tags = AzureJson::object();
  for (const auto& [key, value] : machine.tags)
    tags[key] = value;
  AzureJson body = {{"location", machine.location}, {"tags", std::move(tags)}, {"properties", std::move(properties)}};
  if (!machine.zone.empty()) body["zones"] = AzureJson::array({machine.zone});
  if (!machine.identity.empty())
    body["identity"] = {{"type", "UserAssigned"}, {"userAssignedIdentities", {{machine.identity, AzureJson::object()}}}};
  return body.dump(-1, ' ', false, AzureJson::error_handler_t::replace);
}

}  // namespace stint
