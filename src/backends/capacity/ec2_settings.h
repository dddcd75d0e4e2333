// What machines of Amazon EC2 are made of, as an operator configures it; and whether a kind of machine can be made so. Pure.
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

/// What machines of a region are made of.
struct Ec2Place {
  std::string region;
  std::string image;                                         ///< may be empty where the template names one
  std::string launch_template;                               ///< "" = none
  std::vector<std::pair<std::string, std::string>> subnets;  ///< zone → subnet; of other zones the default one
  std::vector<std::string> security_groups;
  std::string key_name, instance_profile;
  bool operator==(const Ec2Place&) const = default;
};

struct Ec2Settings {
  std::vector<Ec2Place> places;  ///< regions differ
  std::vector<std::pair<std::string, std::string>> tags;
  std::string user_data;                           ///< the machines' own part of it
  std::optional<Duration> lifetime = kHour * 168;  ///< after which a machine ends by itself
  Duration list_lag = Duration::seconds(30);       ///< how far EC2's lists may be behind
  bool operator==(const Ec2Settings&) const = default;

  /// @return nullptr = no machine is made in that region.
  [[nodiscard]] const Ec2Place* place(std::string_view region) const;
};

/// `us-east-1a` → `us-east-1`, `us-west-2-lax-1a` → `us-west-2`; "" for what is no zone.
std::string ec2_region_of_zone(std::string_view zone);

/// @return kInvalidInput for a machine that cannot be made there, saying what it lacks.
Status check_ec2_machine(const Ec2Settings& settings, const Machine& machine);

}  // namespace stint
