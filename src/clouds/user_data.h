// What a machine of any cloud does first by itself: its user data, as cloud-init reads it. Pure.
//
// Source: cloud-init documentation, "User-data formats".
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace stint {

// The most that each cloud takes, before base64. Sources: "Run commands when you launch an EC2 instance with user data input"; "About VM
// metadata"; "Custom data and cloud-init on Azure Virtual Machines".
inline constexpr size_t kMostEc2UserData = 16'384;
inline constexpr size_t kMostGceUserData = 262'144;
inline constexpr size_t kMostAzureUserData = 65'535;

/// What a machine is told at its first start: its name, its own end, and its user's part.
struct FirstStart {
  std::string machine;               ///< put into /var/lib/stint/machine
  std::optional<Duration> lifetime;  ///< it shuts itself down then, restarts included, whether its owner is there or not
  std::string give_back;             ///< a script by which the machine gives itself back before it shuts down; "" = none
  std::string user_part;             ///< a script, or cloud-init's configuration (`#cloud-config`)
};
/// @param most  bytes that the cloud takes. @return kInvalidInput when it is larger.
Result<std::string> user_data_of(const FirstStart& first, size_t most);
/// The script alone.
std::string first_start_script(const FirstStart& first);

}  // namespace stint
