// Finds the instance type that a bill line's free text names: "$1.624 per On Demand Linux g5.4xlarge Instance
// Hour", "USE1-SpotUsage:p4d.24xlarge", "NC24ads A100 v4 Spot", "a2-highgpu-1g", "BM.GPU.H100.8".
//
// Sources: the naming conventions of AWS (family.size), Azure (N-series and general sizes, "Standard_" names),
// Google Cloud (family-class-size) and Oracle (shapes). A text that names only a family ("A2 Instance Core") or
// no instance at all gives nothing: a wrong type is worse than an unknown one.
#pragma once

#include <string>
#include <string_view>

namespace stint {

/// @param provider  canonical ("aws", "azure", "gcp", "oci"); "" or another = any convention that is unmistakable.
/// @return the type as the provider's price list writes it ("g5.4xlarge", "Standard_NC24ads_A100_v4",
/// "a2-highgpu-1g"); "" when the text names none.
std::string find_instance_type(std::string_view provider, std::string_view text);

}  // namespace stint
