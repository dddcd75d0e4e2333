#include "clouds/metadata_address.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr std::string_view kPlainHttp = "http://";
constexpr std::string_view kLinkLocal = "http://169.254.169.254";
constexpr std::array<std::string_view, 7> kHosts = {
    "169.254.169.254", "[fd00:ec2::254]", "metadata.google.internal", "metadata", "localhost", "127.0.0.1", "[::1]"};
/// The asset tag of every virtual machine of Azure; other machines of Hyper-V have other ones.
constexpr std::string_view kAzureTag = "7783-7084-3265-9085-8269-3286-77";

bool is_port(std::string_view text) {
  const auto number = parse_int(text);
  return number && *number > 0 && *number <= 65'535;
}

}  // namespace

std::string_view name_of(CloudProvider provider) {
  switch (provider) {
    case CloudProvider::kAws: return "AWS";
    case CloudProvider::kGoogle: return "Google Cloud";
    case CloudProvider::kAzure: return "Azure";
  }
  return "";
}

bool is_metadata_address(std::string_view url) {
  if (!url.starts_with(kPlainHttp)) return false;
  const std::string_view rest = url.substr(kPlainHttp.size());
  const size_t end = rest.starts_with('[') ? rest.find(']') : rest.find(':');
  const size_t host_size =
      rest.starts_with('[') ? (end == std::string_view::npos ? rest.size() : end + 1) : std::min(end, rest.size());
  const std::string host = to_lower(rest.substr(0, host_size));
  const std::string_view port = rest.substr(host_size);
  return std::find(kHosts.begin(), kHosts.end(), host) != kHosts.end() &&
         (port.empty() || (port.starts_with(':') && is_port(port.substr(1))));
}

Result<std::string> metadata_address(CloudProvider provider, const Environment& environment) {
  std::string variable = "STINT_METADATA_ADDRESS";
  std::string address = environment(variable);
  if (address.empty() && provider == CloudProvider::kAws) address = environment(variable = "AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (address.empty() && provider == CloudProvider::kGoogle) {
    address = environment(variable = "GCE_METADATA_HOST");
    if (!address.empty() && address.find("://") == std::string::npos) address = std::string(kPlainHttp) + address;
  }
  if (address.empty()) return std::string(kLinkLocal);
  while (address.ends_with('/'))
    address.pop_back();
  if (!is_metadata_address(address))
    return invalid(
        "{}: '{}' is no address of metadata: give http:// and this machine (127.0.0.1) or the cloud's (169.254.169.254)",
        variable, excerpt(address));
  return address;
}

std::optional<CloudProvider> detect_cloud(const std::string& folder) {
  const auto word = [&](const char* name) {
    const auto text = read_all(folder + "/" + name);
    return text.ok() ? std::string(trim(*text)) : std::string();
  };
  if (word("sys_vendor") == "Amazon EC2" || word("bios_vendor") == "Amazon EC2") return CloudProvider::kAws;
  if (word("product_name") == "Google Compute Engine") return CloudProvider::kGoogle;
  if (word("chassis_asset_tag") == kAzureTag) return CloudProvider::kAzure;
  return std::nullopt;
}

Result<std::optional<CloudProvider>> cloud_named(std::string_view word, const Environment& environment) {
  using Named = std::optional<CloudProvider>;
  CloudProvider cloud = CloudProvider::kAws;
  if (word == "none") return Named();
  if (word == "auto") {
    const Named found = detect_cloud();
    if (!found) return Named();
    cloud = *found;
    // Whoever shut AWS's metadata off for programs meant this one, too.
    if (cloud == CloudProvider::kAws && equals_ignoring_case(environment("AWS_EC2_METADATA_DISABLED"), "true")) return Named();
  } else if (word == "gcp") {
    cloud = CloudProvider::kGoogle;
  } else if (word == "azure") {
    cloud = CloudProvider::kAzure;
  } else if (word != "aws") {
    return invalid("--cloud {}: give aws, gcp, azure, none, or auto (as the machine's firmware says)", excerpt(word));
  }
  TRY(metadata_address(cloud, environment));
  return Named(cloud);
}

}  // namespace stint
