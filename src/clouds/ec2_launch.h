// One machine as EC2 is asked for it: the form of RunInstances. Pure.
//
// The same launch gives the same form: EC2 makes one machine for a token, and refuses another form with it.
// Source: Amazon EC2 API Reference, RunInstances.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/http_client.h"

namespace stint {

struct Ec2Launch {
  std::string token;            ///< at most 64 characters; one machine is made for it, however often it is told
  std::string image;            ///< `ami-…`; may be empty where a template names one
  std::string launch_template;  ///< `lt-…` or a name; "" = none
  std::string instance_type;
  std::string zone;    ///< "" = the subnet's, else any of the region
  std::string subnet;  ///< "" = the zone's default
  std::vector<std::string> security_groups;
  std::string key_name, instance_profile;  ///< a profile's name or ARN
  bool spot = false;
  std::string most_per_hour;  ///< of spot, in dollars: "39.5"; "" = the on-demand price
  std::vector<std::pair<std::string, std::string>> tags;
  std::string user_data;  ///< as cloud-init reads it, not encoded
};

/// Fields in EC2's order of lists (`Name.1`, …), with action and version.
std::vector<HttpField> ec2_launch_form(const Ec2Launch& launch);

/// 64 hexadecimal digits: of a name that bears an owner's mark.
std::string ec2_token(std::string_view owner, std::string_view machine);

}  // namespace stint
