#include "backends/capacity/azure_settings.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "clouds/azure_machine.h"

namespace stint {

const AzurePlace* AzureSettings::place(std::string_view location) const {
  const auto found = std::ranges::find(places, location, &AzurePlace::location);
  return found == places.end() ? nullptr : &*found;
}

std::string azure_location_of_zone(std::string_view zone) {
  const bool is_zone = zone.size() > 2 && zone[zone.size() - 2] == '-' && zone.back() >= '1' && zone.back() <= '9';
  return is_zone ? std::string(zone.substr(0, zone.size() - 2)) : "";
}

std::string azure_zone_number(std::string_view zone) {
  return azure_location_of_zone(zone).empty() ? "" : std::string(1, zone.back());
}

Status check_azure_machine(const AzureSettings& settings, const Machine& machine) {
  if (machine.instance_type.empty()) return invalid("`instance_type`: what Azure calls it, such as Standard_ND96isr_H100_v5");
  if (!machine.provider.empty() && machine.provider != "azure")
    return invalid("`provider` '{}': Azure makes them", excerpt(machine.provider));
  if (machine.market != Market::kSpot && machine.market != Market::kOnDemand) return invalid("`market`: spot or on-demand");
  const AzurePlace* place = settings.place(machine.region);
  if (place == nullptr) {
    std::vector<std::string> locations;
    for (const AzurePlace& each : settings.places)
      locations.push_back(each.location);
    return invalid("`region` '{}' is none of `azure`: {}", excerpt(machine.region),
                   fmt::format("{}", fmt::join(locations, ", ")));
  }
  if (!machine.zone.empty() && azure_location_of_zone(machine.zone) != machine.region)
    return invalid("`zone` '{}': write {}-1 for the first zone there", excerpt(machine.zone), machine.region);
  const std::string& image = place->image.empty() ? settings.image : place->image;
  if (!is_azure_image(image)) return invalid("`image` '{}': an id, or publisher:offer:sku:version", excerpt(image));
  return {};
}

}  // namespace stint
