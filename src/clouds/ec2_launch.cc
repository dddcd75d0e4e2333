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

/// One that no line of either part is.
std::string boundary_of(const std::string& first, const std::string& second) { return "stint-" + sha256_hex(first + second); }

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

std::string ec2_first_script(const Ec2FirstStart& first) {
  std::string script = fmt::format(
      "#!/bin/sh\n# The machine's name.\nmkdir -p /var/lib/stint\necho '{}' >/var/lib/stint/machine\n", first.machine);
  if (!first.lifetime) return script;
  // The end is an instant, written once: a restart does not put it off.
  script += fmt::format(
      "# It ends by itself, whatever becomes of who made it.\n"
      "[ -s /var/lib/stint/ends ] || echo $(($(date +%s) + {})) >/var/lib/stint/ends\n"
      "mkdir -p /var/lib/cloud/scripts/per-boot\n"
      "cat >/var/lib/cloud/scripts/per-boot/stint-ends <<'END'\n"
      "#!/bin/sh\n"
      "left=$((($(cat /var/lib/stint/ends) - $(date +%s)) / 60))\n"
      "[ \"$left\" -gt 0 ] || left=0\n"
      "exec shutdown -P \"+$left\"\n"
      "END\n"
      "chmod 755 /var/lib/cloud/scripts/per-boot/stint-ends\n"
      "/var/lib/cloud/scripts/per-boot/stint-ends\n",
      first.lifetime->whole_seconds());
  return script;
}

Result<std::string> ec2_user_data(const Ec2FirstStart& first) {
  const std::string script = ec2_first_script(first);
  if (first.user_part.empty()) return script;
  const std::string boundary = boundary_of(script, first.user_part);
  std::string data = fmt::format("Content-Type: multipart/mixed; boundary=\"{}\"\nMIME-Version: 1.0\n", boundary);
  const auto add = [&](std::string_view type, const std::string& part) {
    data += fmt::format("\n--{}\nContent-Type: {}; charset=\"utf-8\"\n\n{}\n", boundary, type, part);
  };
  add("text/x-shellscript", script);
  add(first.user_part.starts_with("#cloud-config") ? "text/cloud-config" : "text/x-shellscript", first.user_part);
  data += fmt::format("--{}--\n", boundary);
  if (data.size() > kMostUserData)
    return invalid("user data of {} bytes: EC2 takes {}, {} of which Stint needs: have it fetch the rest", data.size(),
                   kMostUserData, data.size() - first.user_part.size());
  return data;
}

std::string ec2_token(std::string_view owner, std::string_view machine) {
  return sha256_hex(fmt::format("{}\n{}", owner, machine));
}

}  // namespace stint
