#include "clouds/gce_machine.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/secret.h"

namespace stint {
namespace {

using GceJson = nlohmann::ordered_json;

constexpr const char* kCloudPlatformScope = "https://www.googleapis.com/auth/cloud-platform";

GceJson gce_labels(const GceMachine& machine) {
  GceJson labels = GceJson::object();
  for (const auto& [key, value] : machine.labels)
    labels[key] = value;
  return labels;
}

GceJson gce_scheduling(const GceMachine& machine) {
  GceJson scheduling = {{"provisioningModel", machine.spot ? "SPOT" : "STANDARD"},
                        {"automaticRestart", false},
                        {"onHostMaintenance", "TERMINATE"}};  // machines with GPUs do not move
  if (machine.spot || machine.ends_after) scheduling["instanceTerminationAction"] = "DELETE";
  if (machine.ends_after) {
    const Duration runs = std::clamp(*machine.ends_after, Duration::seconds(30), kGceLongestRun);
    scheduling["maxRunDuration"] = {{"seconds", std::to_string(runs.whole_seconds())}};  // int64 travels as text
  }
  return scheduling;
}

GceJson gce_network(const GceMachine& machine) {
  GceJson network = GceJson::object();
  if (!machine.subnetwork.empty()) network["subnetwork"] = machine.subnetwork;
  if (!machine.network.empty()) network["network"] = machine.network;
  if (machine.network.empty() && machine.subnetwork.empty()) network["network"] = "global/networks/default";
  if (machine.public_address) network["accessConfigs"] = GceJson::array({{{"type", "ONE_TO_ONE_NAT"}, {"name", "External NAT"}}});
  return network;
}

int gce_hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string gce_insert_body(const GceMachine& machine) {
  GceJson disk = {
      {"boot", true},
      {"autoDelete", true},
      {"initializeParams",
       {{"sourceImage", machine.image}, {"diskSizeGb", std::to_string(machine.disk_gib)}, {"labels", gce_labels(machine)}}}};
  GceJson body = {{"name", machine.name},
                  {"machineType", fmt::format("zones/{}/machineTypes/{}", machine.zone, machine.machine_type)},
                  {"labels", gce_labels(machine)},
                  {"disks", GceJson::array({std::move(disk)})},
                  {"networkInterfaces", GceJson::array({gce_network(machine)})},
                  {"scheduling", gce_scheduling(machine)}};
  if (!machine.service_account.empty())
    body["serviceAccounts"] =
        GceJson::array({{{"email", machine.service_account}, {"scopes", GceJson::array({kCloudPlatformScope})}}});
  if (!machine.user_data.empty())
    body["metadata"] = {{"items", GceJson::array({{{"key", "user-data"}, {"value", machine.user_data}}})}};
  return body.dump(-1, ' ', false, GceJson::error_handler_t::replace);
}

std::string gce_label_of(std::string_view text) {
  std::string label;
  for (const char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')
      label += c;
    else
      label += fmt::format("_{:02x}", static_cast<unsigned char>(c));
  }
  return label;
}

std::string text_of_gce_label(std::string_view label) {
  std::string text;
  for (size_t i = 0; i < label.size(); ++i) {
    const int high = label[i] == '_' && i + 2 < label.size() ? gce_hex_digit(label[i + 1]) : -1;
    const int low = high >= 0 ? gce_hex_digit(label[i + 2]) : -1;
    if (low < 0) {
      text += label[i];
      continue;
    }
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return text;
}

std::string gce_request_id(std::string_view owner, std::string_view machine, std::string_view what) {
  std::string hex = sha256_hex(fmt::format("{}\n{}\n{}", owner, machine, what)).substr(0, 32);
  hex[12] = '5';  // a UUID made of a name
  hex[16] = '8';
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4), hex.substr(16, 4), hex.substr(20));
}

}  // namespace stint
