#include "backends/capacity/gce_settings.h"

#include "base/text.h"

namespace stint {

std::string gce_region_of_zone(std::string_view zone) {
  const size_t dash = zone.rfind('-');
  const bool is_zone = dash != std::string_view::npos && dash + 2 == zone.size() && zone.find('-') != dash;
  return is_zone ? std::string(zone.substr(0, dash)) : "";
}

Status check_gce_machine(const GceSettings&, const Machine& machine) {
  if (machine.instance_type.empty()) return invalid("`instance_type`: what Google calls it, such as a3-highgpu-8g");
  if (!machine.provider.empty() && machine.provider != "gcp")
    return invalid("`provider` '{}': Google Cloud makes them", excerpt(machine.provider));
  if (machine.market != Market::kSpot && machine.market != Market::kOnDemand) return invalid("`market`: spot or on-demand");
  if (gce_region_of_zone(machine.zone).empty()) return invalid("`zone`: where it is made, such as us-central1-a");
  if (!machine.region.empty() && gce_region_of_zone(machine.zone) != machine.region)
    return invalid("`zone` '{}' is not in the region {}", excerpt(machine.zone), machine.region);
  return {};
}

}  // namespace stint
