// What machines of Google Compute Engine are made of, as an operator configures it; and whether a kind can be made so. Pure.
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

struct GceSettings {
  std::string project;
  std::string image;  ///< `projects/P/global/images/I` or `projects/P/global/images/family/F`
  int64_t disk_gib = 100;
  std::string network;                                           ///< "" = the default network, or the subnetwork's
  std::vector<std::pair<std::string, std::string>> subnetworks;  ///< region → subnetwork
  bool public_address = true;
  std::string service_account;  ///< an address; "" = none
  std::vector<std::pair<std::string, std::string>> labels;
  std::string user_data;                           ///< the machines' own part of it
  std::optional<Duration> lifetime = kHour * 168;  ///< Google deletes a machine then
  Duration list_lag = Duration::seconds(10);       ///< how far Google's lists may be behind
  bool operator==(const GceSettings&) const = default;
};

/// `us-central1-a` → `us-central1`; "" for what is no zone.
std::string gce_region_of_zone(std::string_view zone);

/// @return kInvalidInput for a machine that cannot be made there, saying what it lacks.
Status check_gce_machine(const GceSettings& settings, const Machine& machine);

}  // namespace stint
