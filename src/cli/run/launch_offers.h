// Which machines would do for a launch, and what they cost now: the catalogue's and pick's choice of types, and what the clouds sell of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/capacity/clouds_capacity.h"
#include "base/result.h"
#include "catalog/catalog.h"
#include "cli/decide/work_options.h"
#include "launch/launch_plan.h"

namespace stint {

struct LaunchTypes {
  /// One of them is enough.
  struct Type {
    std::string provider, name;
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
  std::vector<std::string> providers;  ///< aws, gcp, azure
  std::string region;                  ///< "" = any that is configured
};
/// @return error saying what none has.
Result<LaunchTypes> launch_types(const LaunchNeeds& needs, const Catalog& catalog);

struct OfferLimits {
  bool spot = true, on_demand = false;
  std::string region;              ///< "" = all that are configured
  std::vector<std::string> zones;  ///< empty = all
  std::optional<Rate> limit;
  /// Does the zone, or the region where the cloud picks the zone, come into question?
  [[nodiscard]] bool takes(const std::string& of_region, const std::string& zone) const;
};

struct LaunchMarket {
  std::vector<LaunchOffer> offers;
  std::vector<std::string> unasked;  ///< a cloud's region that could not be asked, and why
  std::vector<std::string> lacking;  ///< why a type or a place has none
  std::vector<std::string> old;  ///< offers whose price is the catalogue's and was typed long ago: "x/eastus/spot, 2025-01-01"
};
/// What the clouds sell of the types, where their settings let machines be made: spot prices of AWS and zones of Google at the moment, the
/// rest by the catalogue. A cloud that cannot be asked keeps none of the others out.
LaunchMarket look_at_clouds(const CloudSettings& clouds, const LaunchTypes& types, const OfferLimits& limits,
                            const Catalog& catalog);

/// Best first, of each market by itself, whosever they are: by what the work costs on it where that is known, else by the hour.
/// @return error naming what is missing when nothing is left.
Result<std::vector<LaunchOffer>> launch_offers(const LaunchTypes& types, LaunchMarket market, const OfferLimits& limits);

}  // namespace stint
