#include "clouds/ec2_launch.h"

#include <algorithm>

#include "clouds/digests.h"
#include "clouds/ec2_client.h"
#include "host/secret.h"

namespace stint {
namespace {

bool is_arn(std::string_view text) { return text.starts_with("arn:"); }

void add_tags(std::vector<HttpField>& form, int number, std::string_view resource, const Ec2Launch& launch) {
  const std::string prefix = fmt::format("TagSpecification.{}", number);
  form.emplace_back(prefix + ".ResourceType", resource);
  int tag = 0;
  for (const auto& [key, value] : launch.tags) {
    ++tag;
    form.emplace_back(fmt::format("{}.Tag.{}.Key", prefix, tag), key);
    form.emplace_back(fmt::format("{}.Tag.{}.Value", prefix, tag), value);
  }
}

}  // namespace

std::vector<HttpField> ec2_launch_form(const Ec2Launch& launch) {
  std::vector<HttpField> form = {{"Action", "RunInstances"},
                                 {"Version", std::string(kEc2Version)},
                                 {"MinCount", "1"},
                                 {"MaxCount", "1"},
                                 {"ClientToken", launch.token},
                                 {"InstanceType", launch.instance_type},
                                 // What shuts itself down is gone, and costs nothing more.
                                 {"InstanceInitiatedShutdownBehavior", "terminate"},
                                 {"MetadataOptions.HttpTokens", "required"},
                                 {"MetadataOptions.HttpPutResponseHopLimit", "2"}};  // containers are one hop away
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) form.emplace_back(name, value);
  };
  add("ImageId", launch.image);
  add(launch.launch_template.starts_with("lt-") ? "LaunchTemplate.LaunchTemplateId" : "LaunchTemplate.LaunchTemplateName",
      launch.launch_template);
  add("Placement.AvailabilityZone", launch.subnet.empty() ? launch.zone : "");
  add("SubnetId", launch.subnet);
  int number = 0;
  for (const std::string& group : launch.security_groups)
    add(fmt::format("SecurityGroupId.{}", ++number), group);
  add("KeyName", launch.key_name);
  add(is_arn(launch.instance_profile) ? "IamInstanceProfile.Arn" : "IamInstanceProfile.Name", launch.instance_profile);
  if (launch.spot) {
    add("InstanceMarketOptions.MarketType", "spot");
    add("InstanceMarketOptions.SpotOptions.SpotInstanceType", "one-time");
    add("InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior", "terminate");
    add("InstanceMarketOptions.SpotOptions.MaxPrice", launch.most_per_hour);
  }
  add_tags(form, 1, "instance", launch);
  add_tags(form, 2, "volume", launch);
  if (!launch.user_data.empty()) add("UserData", to_base64(launch.user_data));
  return form;
}

std::string ec2_token(std::string_view owner, std::string_view machine) {
  return sha256_hex(fmt::format("{}\n{}", owner, machine));
}

}  // namespace stint
