// Microsoft Azure.
//
// Sources: Azure CLI reference, az vm, az reservations, az billing-benefits; Azure documentation, "Scheduled Events" (Preempt: at least
// 30 seconds); AKS documentation, spot node pools (scalesetpriority); registry.terraform.io, hashicorp/azurerm
// (azurerm_linux_virtual_machine).
#include "base/quoting.h"
#include "catalog/providers/providers.h"

namespace stint {
namespace {

class Azure final : public Provider {
 public:
  constexpr Azure()
      : Provider({.id = "azure",
                  .name_in_bills = "Microsoft",
                  .terraform_resource = "azurerm_linux_virtual_machine",
                  .spot_label = "kubernetes.azure.com/scalesetpriority",
                  .spot_label_value = "spot",
                  .spot_notice = Duration::seconds(30),
                  .first_zone = "-1",
                  .sale_of_commitment = {},
                  .return_of_savings_plan = {}}) {}

  /// eastus-1
  [[nodiscard]] std::string region_of_zone(std::string_view zone) const override { return before_last_dash(zone); }

  [[nodiscard]] std::string machine_command(const PlannedNode& node, MachineAction action,
                                            const std::string& to_instance_type) const override {
    if (node.resource_id.starts_with("/subscriptions/"))
      return command_for("--ids " + shell_quoted(node.resource_id), action, to_instance_type);
    return to_fill_in("GROUP, its resource group",
                      command_for("--resource-group GROUP --name " + shell_quoted(node.name), action, to_instance_type));
  }

  [[nodiscard]] std::string spot_command(const PlannedNode& node) const override {
    return to_fill_in(kOfAMachine,
                      fmt::format("az vm create --resource-group GROUP --name {}-spot --size {} --location {} --priority Spot "
                                  "--eviction-policy Deallocate --max-price -1 --image IMAGE",
                                  shell_quoted(node.name), shell_quoted(node.instance_type), shell_quoted(node.region)));
  }

  [[nodiscard]] std::string create_command(const PlannedNode& node) const override {
    return to_fill_in(kOfAMachine,
                      fmt::format("az vm create --resource-group GROUP --name {} --size {} --location {} --image IMAGE",
                                  shell_quoted(node.name), shell_quoted(node.instance_type), shell_quoted(node.region)));
  }

  [[nodiscard]] Lines buy(const Commit& c) const override {
    return {fmt::format(
        "az reservations reservation-order calculate --sku {} --location {} --quantity {} --term {} --reserved-resource-type "
        "VirtualMachines --applied-scope-type Shared --billing-plan {} --billing-scope \"$(az account show --query id --output "
        "tsv)\" --display-name stint",
        shell_quoted(c.instance_type), shell_quoted(c.region), c.count, is_three_years(c.term) ? "P3Y" : "P1Y",
        c.payment == PaymentOption::kAllUpfront ? "Upfront" : "Monthly")};
  }

  [[nodiscard]] Lines buy(const SavingsPlan& c) const override {
    return {
        fmt::format("az billing-benefits savings-plan-order-aliases create --order-alias-name stint --display-name stint --sku "
                    "Compute_Savings_Plan --term {}{} --applied-scope-type Shared --billing-scope-id "
                    "\"/subscriptions/$(az account show --query id --output tsv)\" "
                    "--commitment '{{amount:{},currency-code:{},grain:Hourly}}'",
                    is_three_years(c.term) ? "P3Y" : "P1Y", c.payment == PaymentOption::kAllUpfront ? "" : " --billing-plan P1M",
                    c.per_hour.to_decimal(), c.per_hour.currency().code())};
  }

  [[nodiscard]] Lines type_arguments(const std::string& type) const override { return {"size = " + hcl_quoted(type)}; }

  [[nodiscard]] Lines market_arguments(Market to) const override {
    return to == Market::kSpot ? Lines{"priority        = \"Spot\"", "eviction_policy = \"Deallocate\"", "max_bid_price   = -1"}
                               : Lines{"priority = \"Regular\""};
  }

  [[nodiscard]] Lines region_arguments(const std::string& region) const override { return {"location = " + hcl_quoted(region)}; }

  [[nodiscard]] Lines schedule_blocks(const PlannedNode& node, size_t, size_t, size_t number) const override {
    if (number > 1) return {};
    return {"# azurerm knows a daily shutdown only: use the crontab for " + one_line(node.name)};
  }

 private:
  static constexpr std::string_view kOfAMachine = "GROUP, its resource group, and IMAGE, what it starts from";

  static std::string command_for(const std::string& which, MachineAction action, const std::string& to_instance_type) {
    switch (action) {
      case MachineAction::kStop: return "az vm deallocate " + which;
      case MachineAction::kStart: return "az vm start " + which;
      case MachineAction::kGiveBack: return "az vm delete --yes " + which;
      case MachineAction::kResize: break;
    }
    return fmt::format("az vm deallocate {0} && az vm resize {0} --size {1} && az vm start {0}", which,
                       shell_quoted(to_instance_type));
  }
};

}  // namespace

const Provider& azure_provider() {
  static constexpr Azure kAzure;
  return kAzure;
}

}  // namespace stint
