// Google Cloud.
//
// Sources: gcloud reference, compute instances and commitments; Compute Engine documentation, "Preemption process" (30 seconds);
// GKE documentation, Spot VMs (gke-spot); registry.terraform.io, hashicorp/google (google_compute_instance,
// google_compute_resource_policy, google_compute_region_commitment).
#include <algorithm>
#include <optional>

#include "base/quoting.h"
#include "catalog/catalog.h"
#include "catalog/providers/providers.h"

namespace stint {
namespace {

std::string zone_of(const PlannedNode& node) { return node.zone.empty() ? "ZONE" : shell_quoted(node.zone); }

/// What commitments are to: Google sells vCPUs, memory and GPUs each for itself.
struct CommittedParts {
  int64_t vcpus = 0;
  double memory_gib = 0;
  int64_t gpus = 0;
  std::string gpu_type;  ///< as Google calls it
};

/// None: the type is not in the catalogue, or Google's name of its GPU is not.
std::optional<CommittedParts> parts_of(const Commit& c) {
  const Catalog& catalog = Catalog::built_in();
  const InstanceType* type = catalog.find_instance("gcp", c.instance_type);
  const GpuFacts* gpu = type == nullptr ? nullptr : catalog.find_gpu(type->gpu_model);
  if (gpu == nullptr || type->gpu_milli % 1000 != 0) return std::nullopt;
  const auto name = std::ranges::find_if(gpu->aliases, [](const std::string& alias) { return alias.starts_with("nvidia-"); });
  if (name == gpu->aliases.end()) return std::nullopt;
  return CommittedParts{.vcpus = c.count * type->vcpus,
                        .memory_gib = static_cast<double>(c.count) * type->memory.to_gibi(),
                        .gpus = c.count * type->whole_gpus(),
                        .gpu_type = *name};
}

class Gcp final : public Provider {
 public:
  constexpr Gcp()
      : Provider({.id = "gcp",
                  .name_in_bills = "Google Cloud",
                  .terraform_resource = "google_compute_instance",
                  .spot_label = "cloud.google.com/gke-spot",
                  .spot_label_value = "true",
                  .spot_notice = Duration::seconds(30),
                  .first_zone = "-a",
                  .sale_of_commitment = {},
                  .return_of_savings_plan = {}}) {}

  /// us-central1-a
  [[nodiscard]] std::string region_of_zone(std::string_view zone) const override { return before_last_dash(zone); }

  [[nodiscard]] std::string machine_command(const PlannedNode& node, MachineAction action,
                                            const std::string& to_instance_type) const override {
    const std::string name = shell_operand(last_part(node.resource_id));
    const std::string which = fmt::format("{} --zone {}", name, zone_of(node));
    return node.zone.empty() ? to_fill_in("ZONE, where it lies", command_for(which, action, to_instance_type))
                             : command_for(which, action, to_instance_type);
  }

  [[nodiscard]] std::string spot_command(const PlannedNode& node) const override {
    return to_fill_in(of_a_machine(node),
                      fmt::format("gcloud compute instances create {}-spot --zone {} --machine-type {} --provisioning-model SPOT "
                                  "--instance-termination-action STOP --source-instance-template TEMPLATE",
                                  shell_quoted(last_part(node.resource_id)), zone_of(node), shell_quoted(node.instance_type)));
  }

  [[nodiscard]] std::string create_command(const PlannedNode& node) const override {
    return to_fill_in(
        of_a_machine(node),
        fmt::format("gcloud compute instances create {} --zone {} --machine-type {} --source-instance-template TEMPLATE",
                    shell_quoted(last_part(node.resource_id)), zone_of(node), shell_quoted(node.instance_type)));
  }

  [[nodiscard]] Lines buy(const Commit& c) const override {
    const bool three = is_three_years(c.term);
    const std::optional<CommittedParts> parts = parts_of(c);
    const std::string command = fmt::format(
        "gcloud compute commitments create {} --region {} --plan {} --type accelerator-optimized --resources vcpu={},memory={} "
        "--resources-accelerator count={},type={}",
        shell_quoted(c.instance_type + (three ? "-3y" : "-1y")), shell_quoted(c.region), three ? "36-month" : "12-month",
        parts ? std::to_string(parts->vcpus) : "VCPUS", parts ? fmt::format("{:.0f}GB", parts->memory_gib) : "MEMORY",
        parts ? std::to_string(parts->gpus) : "GPUS", parts ? parts->gpu_type : "GPU_TYPE");
    return {fmt::format("# machines covered: {} × {}; vCPUs, memory and GPUs are committed to separately", c.count,
                        one_line(c.instance_type)),
            parts ? command : to_fill_in("VCPUS, MEMORY, GPUS and GPU_TYPE, what these machines have", command)};
  }
  [[nodiscard]] Lines buy(const SavingsPlan& c) const override { return provider_of({}).buy(c); }

  [[nodiscard]] Lines type_arguments(const std::string& type) const override {
    return {"machine_type = " + hcl_quoted(type), "allow_stopping_for_update = true"};
  }

  [[nodiscard]] Lines market_arguments(Market to) const override {
    return to == Market::kSpot ? Lines{"scheduling {",
                                       "  provisioning_model          = \"SPOT\"",
                                       "  preemptible                 = true",
                                       "  automatic_restart           = false",
                                       "  instance_termination_action = \"STOP\"",
                                       "}"}
                               : Lines{"scheduling {", "  provisioning_model = \"STANDARD\"", "}"};
  }

  [[nodiscard]] Lines region_arguments(const std::string& region) const override {
    return {"zone = " + hcl_quoted(region + "-a") + "  # any zone of the region that has the type"};
  }

  [[nodiscard]] Lines schedule_blocks(const PlannedNode& node, size_t from, size_t to, size_t number) const override {
    return {fmt::format("resource \"google_compute_resource_policy\" \"{}_off_{}\" {{", block_name(node.name), number),
            fmt::format("  name   = {}", hcl_quoted(fmt::format("stint-off-{}", number))),
            "  region = " + hcl_quoted(node.region),
            "  instance_schedule_policy {",
            "    time_zone = \"UTC\"",
            "    vm_stop_schedule {",
            fmt::format("      schedule = \"{}\"", cron_time(from)),
            "    }",
            "    vm_start_schedule {",
            fmt::format("      schedule = \"{}\"", cron_time(to)),
            "    }",
            "  }",
            "}"};
  }

  [[nodiscard]] Lines commitment_block(const Commit& c) const override {
    const std::optional<CommittedParts> parts = parts_of(c);
    if (!parts)
      return {fmt::format("# the vCPUs, memory and GPUs of {} × {} are not known: see google_compute_region_commitment", c.count,
                          one_line(c.instance_type))};
    return {fmt::format("resource \"google_compute_region_commitment\" \"{}\" {{", block_name(c.instance_type)),
            "  name   = " + hcl_quoted("stint-" + c.instance_type),
            "  region = " + hcl_quoted(c.region),
            fmt::format("  plan   = {}", is_three_years(c.term) ? "\"THIRTY_SIX_MONTH\"" : "\"TWELVE_MONTH\""),
            "  type   = \"ACCELERATOR_OPTIMIZED\"",
            fmt::format("  # vCPUs and memory of {} × {}", c.count, one_line(c.instance_type)),
            "  resources {",
            "    type   = \"VCPU\"",
            fmt::format("    amount = \"{}\"", parts->vcpus),
            "  }",
            "  resources {",
            "    type   = \"MEMORY\"",
            fmt::format("    amount = \"{:.0f}\"  # MB", parts->memory_gib * 1024),
            "  }",
            "  resources {",
            "    type             = \"ACCELERATOR\"",
            fmt::format("    amount           = \"{}\"", parts->gpus),
            "    accelerator_type = " + hcl_quoted(parts->gpu_type),
            "  }",
            "}"};
  }

 private:
  static std::string command_for(const std::string& which, MachineAction action, const std::string& to_instance_type) {
    switch (action) {
      case MachineAction::kStop: return "gcloud compute instances stop " + which;
      case MachineAction::kStart: return "gcloud compute instances start " + which;
      case MachineAction::kGiveBack: return "gcloud compute instances delete " + which;
      case MachineAction::kResize: break;
    }
    return fmt::format(
        "gcloud compute instances stop {0} && gcloud compute instances set-machine-type {0} --machine-type {1} && "
        "gcloud compute instances start {0}",
        which, shell_quoted(to_instance_type));
  }
  static std::string_view of_a_machine(const PlannedNode& node) {
    return node.zone.empty()
               ? "ZONE, where it is to lie, and TEMPLATE, an instance template"
               : "TEMPLATE, an instance template (gcloud compute instance-templates create --source-instance makes one)";
  }
};

}  // namespace

const Provider& gcp_provider() {
  static constexpr Gcp kGcp;
  return kGcp;
}

}  // namespace stint
