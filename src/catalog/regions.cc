// Which cloud regions a residency word covers.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "catalog/selection.h"

namespace stint {
namespace {

/// In Europe by name, outside the Union: London (aws, gcp), Zurich (aws, gcp).
constexpr std::array<std::string_view, 4> kNotUnion = {"eu-west-2", "eu-central-2", "europe-west2", "europe-west6"};

/// Azure names carry no common prefix. Source: Azure geographies list.
constexpr std::array<std::string_view, 14> kAzureUnion = {
    "westeurope",  "northeurope", "francecentral", "francesouth",  "germanywestcentral", "germanynorth",   "swedencentral",
    "swedensouth", "italynorth",  "polandcentral", "spaincentral", "austriaeast",        "belgiumcentral", "denmarkeast"};

template <typename Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool region_in(std::string_view region, std::string_view wanted) {
  const std::string r = to_lower(region);
  const std::string w = to_lower(trim(wanted));
  if (w.empty() || r == w) return true;
  if (w != "eu") return r.starts_with(w);
  if (contains(kAzureUnion, r)) return true;
  return (r.starts_with("eu-") || r.starts_with("europe-")) && !contains(kNotUnion, r);
}

}  // namespace stint
