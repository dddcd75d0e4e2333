#include "advise/cloud_command.h"
#include "base/quoting.h"

#include <algorithm>
#include <array>

namespace stint {
namespace {

/// The last part of a path such as //compute.googleapis.com/projects/p/zones/z/instances/NAME.
std::string last_part(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string aws(const PlannedNode& node, MachineAction action, const std::string& type) {
  const std::string where =
      fmt::format("--region {} --instance-ids {}", shell_quoted(node.region), shell_quoted(node.resource_id));
  switch (action) {
    case MachineAction::kStop: return "aws ec2 stop-instances " + where;
    case MachineAction::kStart: return "aws ec2 start-instances " + where;
    case MachineAction::kGiveBack: return "aws ec2 terminate-instances " + where;
    case MachineAction::kResize: break;
  }
  return fmt::format(
      "aws ec2 stop-instances {0} && aws ec2 wait instance-stopped {0} && aws ec2 modify-instance-attribute --region {1} "
      "--instance-id {2} "
      "--instance-type {3} && aws ec2 start-instances {0}",
      where, shell_quoted(node.region), shell_quoted(node.resource_id), shell_quoted("Value=" + type));
}

/// A machine that a change moved to spot: a fleet of one, which would start another in place of one that is stopped.
std::string aws_fleet(const PlannedNode& node, MachineAction action) {
  if (action == MachineAction::kGiveBack)
    return fmt::format("aws ec2 delete-fleets --region {} --fleet-ids FLEET --terminate-instances   # of {}",
                       shell_quoted(node.region), one_line(node.name));
  return fmt::format(
      "aws ec2 modify-fleet --region {} --fleet-id FLEET --target-capacity-specification TotalTargetCapacity={}   # of {}",
      shell_quoted(node.region), action == MachineAction::kStart ? 1 : 0, one_line(node.name));
}

std::string gcp(const PlannedNode& node, MachineAction action, const std::string& type) {
  const std::string name = shell_operand(last_part(node.resource_id));
  const std::string zone = node.zone.empty() ? "ZONE" : shell_quoted(node.zone);
  switch (action) {
    case MachineAction::kStop: return fmt::format("gcloud compute instances stop {} --zone {}", name, zone);
    case MachineAction::kStart: return fmt::format("gcloud compute instances start {} --zone {}", name, zone);
    case MachineAction::kGiveBack: return fmt::format("gcloud compute instances delete {} --zone {}", name, zone);
    case MachineAction::kResize: break;
  }
  return fmt::format(
      "gcloud compute instances stop {0} --zone {1} && gcloud compute instances set-machine-type {0} --zone {1} --machine-type "
      "{2} && "
      "gcloud compute instances start {0} --zone {1}",
      name, zone, shell_quoted(type));
}

std::string azure(const PlannedNode& node, MachineAction action, const std::string& type) {
  const std::string which = node.resource_id.starts_with("/subscriptions/")
                                ? "--ids " + shell_quoted(node.resource_id)
                                : "--resource-group GROUP --name " + shell_quoted(node.name);
  switch (action) {
    case MachineAction::kStop: return "az vm deallocate " + which;
    case MachineAction::kStart: return "az vm start " + which;
    case MachineAction::kGiveBack: return "az vm delete --yes " + which;
    case MachineAction::kResize: break;
  }
  return fmt::format("az vm deallocate {0} && az vm resize {0} --size {1} && az vm start {0}", which, shell_quoted(type));
}

}  // namespace

std::string machine_command(const PlannedNode& node, MachineAction action, const std::string& to_instance_type) {
  const bool in_fleet = node.market == Market::kSpot && node.resource_id.ends_with("-spot") && action != MachineAction::kResize;
  if (node.provider == "aws") return in_fleet ? aws_fleet(node, action) : aws(node, action, to_instance_type);
  if (node.provider == "gcp") return gcp(node, action, to_instance_type);
  if (node.provider == "azure") return azure(node, action, to_instance_type);
  constexpr std::array<std::string_view, 4> kVerbs = {"stop", "start", "give back", "replace"};
  return fmt::format("# {} {}{}: no command known for provider '{}'", kVerbs[static_cast<size_t>(action)],
                     shell_quoted(node.name), to_instance_type.empty() ? "" : " by " + shell_quoted(to_instance_type),
                     shell_quoted(node.provider));
}

std::string spot_command(const PlannedNode& node) {
  if (node.provider == "aws")
    return fmt::format(
        "aws ec2 create-fleet --region {} --type maintain --target-capacity-specification "
        "TotalTargetCapacity=1,DefaultTargetCapacityType=spot --spot-options AllocationStrategy=price-capacity-optimized "
        "--launch-template-configs {}",
        shell_quoted(node.region),
        // JSON, as the shorthand of aws has no quotes of its own for a name with a comma or a bracket.
        shell_quoted(fmt::format(R"([{{"LaunchTemplateSpecification":{{"LaunchTemplateName":"TEMPLATE","Version":"$Latest"}},)"
                                 R"("Overrides":[{{"InstanceType":{}}}]}}])",
                                 json_quoted(node.instance_type))));
  if (node.provider == "gcp")
    return fmt::format(
        "gcloud compute instances create {}-spot --zone {} --machine-type {} --provisioning-model SPOT "
        "--instance-termination-action STOP --source-instance-template TEMPLATE",
        shell_quoted(last_part(node.resource_id)), node.zone.empty() ? "ZONE" : shell_quoted(node.zone),
        shell_quoted(node.instance_type));
  if (node.provider == "azure")
    return fmt::format(
        "az vm create --resource-group GROUP --name {}-spot --size {} --location {} --priority Spot --eviction-policy Deallocate "
        "--max-price -1 --image IMAGE",
        shell_quoted(node.name), shell_quoted(node.instance_type), shell_quoted(node.region));
  return fmt::format("# buy {} on spot: no command known for provider '{}'", shell_quoted(node.name),
                     shell_quoted(node.provider));
}

std::string create_command(const PlannedNode& node) {
  if (node.provider == "aws")
    return fmt::format(
        "aws ec2 run-instances --region {} --instance-type {} --count 1 --launch-template LaunchTemplateName=TEMPLATE "
        "--tag-specifications {}",
        shell_quoted(node.region), shell_quoted(node.instance_type),
        shell_quoted(
            fmt::format(R"([{{"ResourceType":"instance","Tags":[{{"Key":"Name","Value":{}}}]}}])", json_quoted(node.name))));
  if (node.provider == "gcp")
    return fmt::format("gcloud compute instances create {} --zone {} --machine-type {} --source-instance-template TEMPLATE",
                       shell_quoted(last_part(node.resource_id)), node.zone.empty() ? "ZONE" : shell_quoted(node.zone),
                       shell_quoted(node.instance_type));
  if (node.provider == "azure")
    return fmt::format("az vm create --resource-group GROUP --name {} --size {} --location {} --image IMAGE",
                       shell_quoted(node.name), shell_quoted(node.instance_type), shell_quoted(node.region));
  return fmt::format("# start {} again, a {}: no command known for provider '{}'", shell_quoted(node.name),
                     shell_quoted(node.instance_type), shell_quoted(node.provider));
}

}  // namespace stint
