// A model repository in a registry of OCI artifacts: each file is a blob that its digest names and proves.
#pragma once

#include <memory>
#include <string>

#include "cli/serve/model_origin.h"
#include "codec/serving/oci_artifact.h"

namespace stint {

/// @param token  of the registry, or USER:PASSWORD; "" = none: what anybody may read. Sent to the registry, and to where it says that tokens
/// are to be had, alone.
std::unique_ptr<ModelOrigin> open_oci_origin(OciPlace place, std::string token);

}  // namespace stint
