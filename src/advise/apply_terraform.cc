// A Change as fragments of Terraform: blocks to add, and arguments to change in the block a node has already.
//
// Sources: registry.terraform.io, providers hashicorp/aws (aws_instance, aws_scheduler_schedule), hashicorp/google
// (google_compute_instance, google_compute_resource_policy, google_compute_region_commitment) and hashicorp/azurerm
// (azurerm_linux_virtual_machine); "removed" blocks: Terraform 1.7.
#include <algorithm>

#include "advise/apply_parts.h"
#include "advise/cloud_command.h"
#include "base/quoting.h"

namespace stint {
namespace {

/// Names of blocks: letters, digits, _ and -, and no digit first.
std::string block_name(const std::string& text) {
  std::string out = "stint_";
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    out += plain ? c : '_';
  }
  return out;
}

/// The resource a machine is; "" for a provider Terraform fragments are not written for.
std::string_view resource_of(const std::string& provider) {
  if (provider == "aws") return "aws_instance";
  if (provider == "gcp") return "google_compute_instance";
  if (provider == "azure") return "azurerm_linux_virtual_machine";
  return "";
}

class TerraformWriter {
 public:
  explicit TerraformWriter(const FleetPlan& fleet) : fleet_(fleet) {}

  Lines operator()(const StopNodes& c) {
    for (const std::string& name : c.nodes)
      remove(node(name));
    return std::move(out_);
  }

  Lines operator()(const ScheduleOff& c) {
    for (const std::string& name : c.nodes) {
      size_t number = 0;
      for (const auto& [from, to] : spans_of(c.off))
        switch_by_clock(node(name), from, to, ++number);
    }
    return std::move(out_);
  }

  Lines operator()(const ResizeNodes& c) {
    for (size_t i = 0; i < c.nodes.size(); ++i) {
      if (static_cast<int64_t>(i) >= c.to_count)
        remove(node(c.nodes[i]));
      else
        set(node(c.nodes[i]), type_argument(node(c.nodes[i]), c.to_instance_type));
    }
    return std::move(out_);
  }

  Lines operator()(const ShareGpus& c) {
    for (const std::string& name : given_back(c))
      remove(node(name));
    return std::move(out_);
  }

  Lines operator()(const SwitchMarket& c) {
    for (const std::string& name : c.nodes)
      set(node(name), market_arguments(node(name), c.to));
    return std::move(out_);
  }

  Lines operator()(const Commit& c) {
    if (c.provider != "gcp") return {"# no resource of Terraform buys this commitment: use the command"};
    return {fmt::format("resource \"google_compute_region_commitment\" \"{}\" {{", block_name(c.instance_type)),
            "  name   = " + hcl_quoted("stint-" + c.instance_type),
            "  region = " + hcl_quoted(c.region),
            fmt::format("  plan   = {}", c.term == CommitmentTerm::kThreeYears ? "\"THIRTY_SIX_MONTH\"" : "\"TWELVE_MONTH\""),
            "  type   = \"ACCELERATOR_OPTIMIZED\"",
            fmt::format("  # vCPUs and memory of {} × {}", c.count, one_line(c.instance_type)),
            "  resources {",
            "    type   = \"VCPU\"",
            "    amount = \"VCPUS\"",
            "  }",
            "}"};
  }

  Lines operator()(const SavingsPlan&) { return {"# no resource of Terraform buys a savings plan: use the command"}; }
  Lines operator()(const LimitReservation&) { return {}; }  // the scheduler's business

  Lines operator()(const MoveOffGpu& c) {
    for (const std::string& name : c.nodes)
      set(node(name), type_argument(node(name), c.to_instance_type.empty() ? "CPU_TYPE" : c.to_instance_type));
    return std::move(out_);
  }

  Lines operator()(const MoveRegion& c) {
    for (const std::string& name : c.nodes) {
      const PlannedNode& n = node(name);
      if (n.provider == "gcp")
        set(n, {"zone = " + hcl_quoted(c.to_region + "-a") + "  # any zone of the region that has the type"});
      else if (n.provider == "azure")
        set(n, {"location = " + hcl_quoted(c.to_region)});
      else
        set(n,
            {"provider = aws.TO_REGION  # a provider block with this alias and region = " + one_line(hcl_quoted(c.to_region))});
    }
    return std::move(out_);
  }

 private:
  const PlannedNode& node(const std::string& name) const { return *fleet_.find(name); }

  void remove(const PlannedNode& n) {
    if (resource_of(n.provider).empty()) return;
    out_.push_back(fmt::format("# and take the block of {} out", one_line(n.name)));
    out_.emplace_back("removed {");
    out_.push_back(fmt::format("  from = {}.{}", resource_of(n.provider), block_name(n.name)));
    out_.emplace_back("  lifecycle {");
    out_.emplace_back("    destroy = true");
    out_.emplace_back("  }");
    out_.emplace_back("}");
  }

  /// These arguments, in the block the node has.
  void set(const PlannedNode& n, const Lines& arguments) {
    if (resource_of(n.provider).empty() || arguments.empty()) return;
    out_.push_back(fmt::format("resource \"{}\" \"{}\" {{", resource_of(n.provider), block_name(n.name)));
    out_.push_back("  # " + one_line(n.name) + ": the other arguments stay");
    for (const std::string& line : arguments)
      out_.push_back("  " + line);
    out_.emplace_back("}");
  }

  static Lines type_argument(const PlannedNode& n, const std::string& type) {
    if (n.provider == "aws") return {"instance_type = " + hcl_quoted(type)};
    if (n.provider == "gcp") return {"machine_type = " + hcl_quoted(type), "allow_stopping_for_update = true"};
    return {"size = " + hcl_quoted(type)};
  }

  static Lines market_arguments(const PlannedNode& n, Market to) {
    const bool spot = to == Market::kSpot;
    if (n.provider == "aws")
      return spot ? Lines{"instance_market_options {", "  market_type = \"spot\"", "}"}
                  : Lines{"# without the block instance_market_options"};
    if (n.provider == "gcp")
      return spot ? Lines{"scheduling {",
                          "  provisioning_model          = \"SPOT\"",
                          "  preemptible                 = true",
                          "  automatic_restart           = false",
                          "  instance_termination_action = \"STOP\"",
                          "}"}
                  : Lines{"scheduling {", "  provisioning_model = \"STANDARD\"", "}"};
    return spot ? Lines{"priority        = \"Spot\"", "eviction_policy = \"Deallocate\"", "max_bid_price   = -1"}
                : Lines{"priority = \"Regular\""};
  }

  void switch_by_clock(const PlannedNode& n, size_t from, size_t to, size_t number) {
    if (n.provider == "aws") {
      scheduler(n, "stop", from, number);
      scheduler(n, "start", to, number);
    } else if (n.provider == "gcp") {
      out_.push_back(fmt::format("resource \"google_compute_resource_policy\" \"{}_off_{}\" {{", block_name(n.name), number));
      out_.push_back(fmt::format("  name   = {}", hcl_quoted(fmt::format("stint-off-{}", number))));
      out_.push_back("  region = " + hcl_quoted(n.region));
      out_.emplace_back("  instance_schedule_policy {");
      out_.emplace_back("    time_zone = \"UTC\"");
      out_.emplace_back("    vm_stop_schedule {");
      out_.push_back(fmt::format("      schedule = \"{}\"", cron_time(from)));
      out_.emplace_back("    }");
      out_.emplace_back("    vm_start_schedule {");
      out_.push_back(fmt::format("      schedule = \"{}\"", cron_time(to)));
      out_.emplace_back("    }");
      out_.emplace_back("  }");
      out_.emplace_back("}");
    } else if (n.provider == "azure" && number == 1) {
      out_.push_back("# azurerm knows a daily shutdown only: use the crontab for " + one_line(n.name));
    }
  }

  void scheduler(const PlannedNode& n, const std::string& action, size_t hour, size_t number) {
    constexpr const char* kDays[] = {"MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"};
    out_.push_back(fmt::format("resource \"aws_scheduler_schedule\" \"{}_{}_{}\" {{", block_name(n.name), action, number));
    out_.push_back(fmt::format("  schedule_expression = \"cron(0 {} ? * {} *)\"", hour % 24, kDays[hour / 24]));
    out_.emplace_back("  flexible_time_window {");
    out_.emplace_back("    mode = \"OFF\"");
    out_.emplace_back("  }");
    out_.emplace_back("  target {");
    out_.push_back(fmt::format("    arn      = \"arn:aws:scheduler:::aws-sdk:ec2:{}Instances\"", action));
    out_.emplace_back("    role_arn = \"ROLE_ARN\"");
    out_.push_back("    input    = jsonencode({ InstanceIds = [" + hcl_quoted(n.resource_id) + "] })");
    out_.emplace_back("  }");
    out_.emplace_back("}");
  }

  const FleetPlan& fleet_;
  Lines out_;
};

}  // namespace

Lines terraform_lines(const Change& change, const FleetPlan& fleet) { return std::visit(TerraformWriter(fleet), change); }

}  // namespace stint
