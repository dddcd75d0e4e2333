#include "backends/capacity/ec2_settings.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace stint {

const Ec2Place* Ec2Settings::place(std::string_view region) const {
  const auto found = std::ranges::find(places, region, &Ec2Place::region);
  return found == places.end() ? nullptr : &*found;
}

std::string ec2_region_of_zone(std::string_view zone) {
  // Two or three words and a digit; what follows names the zone.
  size_t dashes = 0;
  for (size_t i = 0; i < zone.size(); ++i) {
    if (zone[i] == '-') ++dashes;
    const bool is_digit = zone[i] >= '0' && zone[i] <= '9';
    if (is_digit && dashes >= 2 && i + 1 < zone.size()) {
      if (zone[i + 1] >= '0' && zone[i + 1] <= '9') continue;
      return std::string(zone.substr(0, i + 1));
    }
  }
  return "";
}

Status check_ec2_machine(const Ec2Settings& settings, const Machine& machine) {
  if (machine.instance_type.empty()) return invalid("`instance_type`: what AWS calls it, such as p5.48xlarge");
  if (!machine.provider.empty() && machine.provider != "aws")
    return invalid("`provider` '{}': AWS makes them", excerpt(machine.provider));
  if (machine.market == Market::kOwned) return invalid("`market`: spot, on-demand or reserved");
  const Ec2Place* place = settings.place(machine.region);
  if (place == nullptr) {
    std::vector<std::string> regions;
    for (const Ec2Place& each : settings.places)
      regions.push_back(each.region);
    return invalid("`region` '{}' is none of `aws`: {}", excerpt(machine.region), fmt::format("{}", fmt::join(regions, ", ")));
  }
  if (!machine.zone.empty() && ec2_region_of_zone(machine.zone) != machine.region)
    return invalid("`zone` '{}' is not in the region {}", excerpt(machine.zone), machine.region);
  if (machine.zone.empty() && !place->subnets.empty())
    return invalid("`zone`: one of those that `subnets` of {} name", machine.region);
  return {};
}

}  // namespace stint
