// AWS's configuration and credentials files: sections of `name = value`.
//
// Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files". Nested values (an empty value, then indented lines)
// are passed over: nothing here reads one.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

using AwsProfile = std::map<std::string, std::string>;  ///< names in lower case
using AwsProfiles = std::map<std::string, AwsProfile>;

enum class AwsFileKind : uint8_t {
  kConfig,       ///< `[profile NAME]`, but `[default]`
  kCredentials,  ///< `[NAME]`
};

/// Sections that are no profiles are passed over (`[sso-session …]`, `[services …]`); of a name given twice the last counts.
/// @return kInvalidInput naming file and line.
Result<AwsProfiles> parse_aws_profiles(std::string_view text, AwsFileKind kind, const std::string& where);

/// @return "" when there is none.
std::string value_of(const AwsProfile& profile, const std::string& name);

}  // namespace stint
