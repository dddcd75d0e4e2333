// Where a machine asks its own cloud about itself, and which cloud that is.
//
// The address is link-local: what answers there is the hypervisor. It is never asked through a proxy (metadata_http_options()), and may be
// moved to this machine alone, for tests and for providers' own emulators: whoever could name another would hand out keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "clouds/cloud_http.h"
#include "clouds/object_url.h"

namespace stint {

/// `AWS`, `Google Cloud`, `Azure`.
std::string_view name_of(CloudProvider provider);

/// Loopback, or one of the providers' own addresses, over http, without a path?
bool is_metadata_address(std::string_view url);

/// `http://169.254.169.254`, or what STINT_METADATA_ADDRESS, else the provider's own variable (AWS_EC2_METADATA_SERVICE_ENDPOINT,
/// GCE_METADATA_HOST) says. @return kInvalidInput naming the variable when it is no is_metadata_address().
Result<std::string> metadata_address(CloudProvider provider, const Environment& environment);

/// What the machine's firmware says it is, without asking the network. none = no cloud, or one that is not known.
/// @param folder  where the kernel shows the firmware's words (DMI).
/// Source: cloud-init's ds-identify, which looks at the same words.
std::optional<CloudProvider> detect_cloud(const std::string& folder = "/sys/class/dmi/id");

/// What a person says of it: `aws`, `gcp`, `azure`, `none`, or `auto`, which is detect_cloud() unless AWS's metadata is shut off for programs
/// (AWS_EC2_METADATA_DISABLED). @return kInvalidInput for another word, and of metadata_address().
Result<std::optional<CloudProvider>> cloud_named(std::string_view word, const Environment& environment = process_environment());

}  // namespace stint
