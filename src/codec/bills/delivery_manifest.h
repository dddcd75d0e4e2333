// The list of files that a provider lays beside the files of a bill: of AWS Data Exports (CUR 2.0, FOCUS) and of the legacy report,
// of Azure cost exports.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stint {

struct DeliveryManifest {
  std::string period;  ///< what the delivery covers, as the provider writes it; deliveries of one period replace each other
  std::string made;    ///< when, in a form that sorts; "" = not said
  std::vector<std::string> files;  ///< as the provider names them: a path in its store, with / between the parts
};

/// @return nullopt when `json` is no such list.
std::optional<DeliveryManifest> parse_delivery_manifest(std::string_view json);

}  // namespace stint
