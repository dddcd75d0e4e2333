// What machines of Azure are made of, as an operator configures it; and whether a kind of machine can be made so. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/machine.h"

namespace stint {

/// What machines of a location are made of.
struct AzurePlace {
  std::string location;        ///< `eastus`
  std::string subnet;          ///< its id
  std::string security_group;  ///< its id; "" = the subnet's
  std::string image;           ///< "" = as AzureSettings say
  bool operator==(const AzurePlace&) const = default;
};

struct AzureSettings {
  std::string subscription, resource_group;
  std::string image;               ///< an id, or `publisher:offer:sku:version`
  std::vector<AzurePlace> places;  ///< locations differ
  int64_t disk_gib = 100;
  std::string user = "stint", ssh_key;  ///< Azure makes no machine without a key
  std::string identity;                 ///< id of a user-assigned managed identity; "" = none
  std::vector<std::pair<std::string, std::string>> tags;
  std::string user_data;                           ///< the machines' own part of it
  std::optional<Duration> lifetime = kHour * 168;  ///< after which a machine ends by itself
  Duration list_lag = Duration::seconds(10);       ///< how far Azure's lists may be behind
  bool operator==(const AzureSettings&) const = default;

  /// @return nullptr = no machine is made in that location.
  [[nodiscard]] const AzurePlace* place(std::string_view location) const;
};

/// @return kInvalidInput for a machine that cannot be made there, saying what it lacks.
Status check_azure_machine(const AzureSettings& settings, const Machine& machine);

/// A zone as a Machine has it is `eastus-1`, as Azure numbers them in each location. @return "1"; "" for what is none.
std::string azure_zone_number(std::string_view zone);
/// `eastus-1` → `eastus`; "" for what is no zone.
std::string azure_location_of_zone(std::string_view zone);

}  // namespace stint
