// Amazon Web Services.
//
// Sources: AWS CLI command reference, ec2 and savingsplans; EC2 User Guide, "Spot Instance interruption notices" (two minutes);
// EKS User Guide, managed node groups (capacityType); registry.terraform.io, hashicorp/aws (aws_instance, aws_scheduler_schedule).
#include "base/quoting.h"
#include "catalog/providers/providers.h"

namespace stint {
namespace {

/// As AWS calls it, or nothing.
std::string payment_option(std::string_view option, PaymentOption payment) {
  switch (payment) {
    case PaymentOption::kNoUpfront: return fmt::format(" --{} 'No Upfront'", option);
    case PaymentOption::kPartialUpfront: return fmt::format(" --{} 'Partial Upfront'", option);
    case PaymentOption::kAllUpfront: return fmt::format(" --{} 'All Upfront'", option);
    case PaymentOption::kNone: break;
  }
  return "";
}

int64_t seconds_of(CommitmentTerm term) { return (is_three_years(term) ? 3 : 1) * 365 * int64_t{86400}; }

/// A machine that a change moved to spot: a fleet of one, which would start another in place of one that is stopped.
std::string fleet_command(const PlannedNode& node, MachineAction action) {
  const std::string what = "FLEET, the id of that of " + one_line(node.name);
  if (action == MachineAction::kGiveBack)
    return to_fill_in(what, fmt::format("aws ec2 delete-fleets --region {} --fleet-ids FLEET --terminate-instances",
                                        shell_quoted(node.region)));
  return to_fill_in(
      what,
      fmt::format("aws ec2 modify-fleet --region {} --fleet-id FLEET --target-capacity-specification TotalTargetCapacity={}",
                  shell_quoted(node.region), action == MachineAction::kStart ? 1 : 0));
}

/// "" where bill and inventory name none, or it is a fleet.
std::string instance_id(const PlannedNode& node) {
  std::string id = last_part(node.resource_id);
  return id.starts_with("i-") && !id.ends_with("-spot") ? id : std::string();
}

std::string command_for(const PlannedNode& node, const std::string& id, MachineAction action,
                        const std::string& to_instance_type) {
  const std::string where = fmt::format("--region {} --instance-ids {}", shell_quoted(node.region), id);
  switch (action) {
    case MachineAction::kStop: return "aws ec2 stop-instances " + where;
    case MachineAction::kStart: return "aws ec2 start-instances " + where;
    case MachineAction::kGiveBack: return "aws ec2 terminate-instances " + where;
    case MachineAction::kResize: break;
  }
  return fmt::format(
      "aws ec2 stop-instances {0} && aws ec2 wait instance-stopped {0} && aws ec2 modify-instance-attribute --region {1} "
      "--instance-id {2} --instance-type {3} && aws ec2 start-instances {0}",
      where, shell_quoted(node.region), id, shell_quoted("Value=" + to_instance_type));
}

constexpr std::string_view kTemplate =
    "TEMPLATE, a launch template (aws ec2 get-launch-template-data --instance-id shows a machine's)";

class Aws final : public Provider {
 public:
  constexpr Aws()
      : Provider({.id = "aws",
                  .name_in_bills = "AWS",
                  .terraform_resource = "aws_instance",
                  .spot_label = "eks.amazonaws.com/capacityType",
                  .spot_label_value = "SPOT",
                  .spot_notice = Duration::minutes(2),
                  .first_zone = "a",
                  .sale_of_commitment = "; a standard one may be sold on the marketplace:",
                  .return_of_savings_plan = "; within days of buying it a small one may be returned:"}) {}

  /// us-east-1a
  [[nodiscard]] std::string region_of_zone(std::string_view zone) const override {
    const bool lettered = zone.size() > 1 && zone.back() >= 'a' && zone.back() <= 'z';
    return lettered ? std::string(zone.substr(0, zone.size() - 1)) : std::string();
  }

  [[nodiscard]] std::string machine_command(const PlannedNode& node, MachineAction action,
                                            const std::string& to_instance_type) const override {
    if (node.market == Market::kSpot && node.resource_id.ends_with("-spot") && action != MachineAction::kResize)
      return fleet_command(node, action);
    if (const std::string id = instance_id(node); !id.empty())
      return command_for(node, shell_quoted(id), action, to_instance_type);
    return to_fill_in("INSTANCE, the id of " + one_line(node.name), command_for(node, "INSTANCE", action, to_instance_type));
  }

  [[nodiscard]] std::string spot_command(const PlannedNode& node) const override {
    return to_fill_in(
        kTemplate,
        fmt::format(
            "aws ec2 create-fleet --region {} --type maintain --target-capacity-specification "
            "TotalTargetCapacity=1,DefaultTargetCapacityType=spot --spot-options AllocationStrategy=price-capacity-optimized "
            "--launch-template-configs {}",
            shell_quoted(node.region),
            // JSON: the shorthand of aws cannot quote a name with a comma or a bracket.
            shell_quoted(
                fmt::format(R"([{{"LaunchTemplateSpecification":{{"LaunchTemplateName":"TEMPLATE","Version":"$Latest"}},)"
                            R"("Overrides":[{{"InstanceType":{}}}]}}])",
                            json_quoted(node.instance_type)))));
  }

  [[nodiscard]] std::string create_command(const PlannedNode& node) const override {
    return to_fill_in(
        kTemplate,
        fmt::format(
            "aws ec2 run-instances --region {} --instance-type {} --count 1 --launch-template LaunchTemplateName=TEMPLATE "
            "--tag-specifications {}",
            shell_quoted(node.region), shell_quoted(node.instance_type),
            shell_quoted(
                fmt::format(R"([{{"ResourceType":"instance","Tags":[{{"Key":"Name","Value":{}}}]}}])", json_quoted(node.name)))));
  }

  [[nodiscard]] Lines buy(const Commit& c) const override {
    const std::string offering = fmt::format(
        "aws ec2 describe-reserved-instances-offerings --region {} --instance-type {} --product-description Linux/UNIX "
        "--min-duration {} --max-duration {} --offering-class standard{} --no-include-marketplace",
        shell_quoted(c.region), shell_quoted(c.instance_type), seconds_of(c.term), seconds_of(c.term),
        payment_option("offering-type", c.payment));
    return {offering, fmt::format("aws ec2 purchase-reserved-instances-offering --region {} --instance-count {} "
                                  "--reserved-instances-offering-id \"$({} --query "
                                  "'ReservedInstancesOfferings[0].ReservedInstancesOfferingId' --output text)\"",
                                  shell_quoted(c.region), c.count, offering)};
  }

  [[nodiscard]] Lines buy(const SavingsPlan& c) const override {
    const std::string offering = fmt::format(
        "aws savingsplans describe-savings-plans-offerings --product-type EC2 --plan-types Compute --currencies {} --durations "
        "{}{}",
        shell_quoted(std::string(c.per_hour.currency().code())), seconds_of(c.term),
        payment_option("payment-options", c.payment));
    const bool partly = c.payment == PaymentOption::kPartialUpfront;
    const std::string purchase = fmt::format(
        "aws savingsplans create-savings-plan --savings-plan-offering-id \"$({} --query 'searchResults[0].offeringId' "
        "--output text)\" --commitment {}{}",
        offering, c.per_hour.to_decimal(), partly ? " --upfront-payment-amount AMOUNT" : "");
    return {offering, partly ? to_fill_in("AMOUNT, what is paid now", purchase) : purchase};
  }

  [[nodiscard]] Lines undo(const Commit& c) const override {
    return {to_fill_in("RESERVATION, its id, PRICES, what you ask for it, and TOKEN, a word used once",
                       fmt::format("aws ec2 create-reserved-instances-listing --region {} --reserved-instances-id RESERVATION "
                                   "--instance-count {} --price-schedules PRICES --client-token TOKEN",
                                   shell_quoted(c.region), c.count))};
  }
  [[nodiscard]] Lines undo(const SavingsPlan&) const override {
    return {to_fill_in("PLAN, its id", "aws savingsplans return-savings-plan --savings-plan-id PLAN")};
  }

  [[nodiscard]] Lines type_arguments(const std::string& type) const override { return {"instance_type = " + hcl_quoted(type)}; }

  [[nodiscard]] Lines market_arguments(Market to) const override {
    return to == Market::kSpot ? Lines{"instance_market_options {", "  market_type = \"spot\"", "}"}
                               : Lines{"# without the block instance_market_options"};
  }

  [[nodiscard]] Lines region_arguments(const std::string& region) const override {
    return {fmt::format("provider = aws.{}  # a provider block with this alias and region = {}", block_name(region),
                        one_line(hcl_quoted(region)))};
  }

  [[nodiscard]] Lines schedule_role() const override {
    return {
        "resource \"aws_iam_role\" \"stint_scheduler\" {",
        "  name               = \"stint-scheduler\"",
        "  assume_role_policy = jsonencode({",
        "    Version   = \"2012-10-17\"",
        "    Statement = [{ Effect = \"Allow\", Principal = { Service = \"scheduler.amazonaws.com\" }, Action = "
        "\"sts:AssumeRole\" }]",
        "  })",
        "}",
        "resource \"aws_iam_role_policy\" \"stint_scheduler\" {",
        "  name   = \"stint-scheduler\"",
        "  role   = aws_iam_role.stint_scheduler.id",
        "  policy = jsonencode({",
        "    Version   = \"2012-10-17\"",
        "    Statement = [{ Effect = \"Allow\", Action = [\"ec2:StartInstances\", \"ec2:StopInstances\"], Resource = \"*\" }]",
        "  })",
        "}"};
  }

  [[nodiscard]] Lines schedule_blocks(const PlannedNode& node, size_t from, size_t to, size_t number) const override {
    if (instance_id(node).empty())
      return number > 1 ? Lines() : Lines{"# the instance id of " + one_line(node.name) + " is not known: use the crontab"};
    Lines out = scheduler(node, "stop", from, number);
    const Lines start = scheduler(node, "start", to, number);
    out.insert(out.end(), start.begin(), start.end());
    return out;
  }

 private:
  static Lines scheduler(const PlannedNode& node, std::string_view action, size_t hour, size_t number) {
    constexpr const char* kDays[] = {"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"};
    return {fmt::format("resource \"aws_scheduler_schedule\" \"{}_{}_{}\" {{", block_name(node.name), action, number),
            fmt::format("  schedule_expression = \"cron(0 {} ? * {} *)\"", hour % 24, kDays[hour / 24]),
            "  flexible_time_window {",
            "    mode = \"OFF\"",
            "  }",
            "  target {",
            fmt::format("    arn      = \"arn:aws:scheduler:::aws-sdk:ec2:{}Instances\"", action),
            "    role_arn = aws_iam_role.stint_scheduler.arn",
            "    input    = jsonencode({ InstanceIds = [" + hcl_quoted(instance_id(node)) + "] })",
            "  }",
            "}"};
  }
};

}  // namespace

const Provider& aws_provider() {
  static constexpr Aws kAws;
  return kAws;
}

}  // namespace stint
