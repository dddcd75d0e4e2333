// Which machines would do for a launch, and what they cost now: the catalogue's and pick's choice of types, EC2's prices of their zones.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "cli/decide/work_options.h"
#include "clouds/ec2_client.h"
#include "launch/launch_plan.h"

namespace stint {

struct LaunchTypes {
  /// One of them is enough.
  struct Type {
    std::string name;
    std::optional<Duration> takes;  ///< the work, on one such machine; none: nothing is known of the work
  };
  std::vector<Type> types;  ///< cheapest first, as the catalogue has it
  std::string gpu_model;    ///< of all of them; "" = they differ, or have none
  int32_t gpus = 0;         ///< each has at least so many
};

struct LaunchNeeds {
  WorkArguments work;
  std::vector<std::string> instance_types, gpu_models;
  int gpus = 0;
  std::string region;
};
/// @return error saying what none has.
Result<LaunchTypes> launch_types(const LaunchNeeds& needs, const Catalog& catalog);

struct OfferLimits {
  bool spot = true, on_demand = false;
  std::vector<std::string> zones;  ///< empty = all of the region
  std::optional<Rate> limit;
};
/// Best first, of each market by itself: by what the work costs on it where that is known, else by the hour.
/// @param spot  as EC2 tells it. @return error naming what is missing when nothing is left.
Result<std::vector<LaunchOffer>> launch_offers(const LaunchTypes& types, const std::vector<Ec2SpotPrice>& spot,
                                               const OfferLimits& limits, const std::string& region, const Catalog& catalog);

}  // namespace stint
