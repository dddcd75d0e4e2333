#include "advise/apply/apply_text.h"

#include <algorithm>
#include <array>

#include "advise/apply/apply_parts.h"

namespace stint {
namespace {

constexpr std::string_view kClouds = "AWS, Google Cloud, Azure; the machines themselves";

/// Only the nodes the change speaks of, as the audit's books have them.
FleetPlan fleet_of(const Change& change, const Books& plan) {
  std::vector<std::string> names = nodes_of(change);
  std::ranges::sort(names);
  FleetPlan fleet;
  for (const NodeFacts& n : plan.facts().nodes)
    if (std::ranges::binary_search(names, n.name))
      fleet.nodes.push_back({.name = n.name,
                             .resource_id = n.resource_id,
                             .provider = n.provider,
                             .region = n.region,
                             .zone = n.zone,
                             .instance_type = plan.of(n.id).instance_type,
                             .market = n.market,
                             .gpu_model = n.gpu_model,
                             .gpu_count = n.gpu_count,
                             .off = plan.of(n.id).off,
                             .sharing = {}});
  std::ranges::sort(fleet.nodes, {}, &PlannedNode::name);
  return fleet;
}

void add(std::vector<Instruction>& to, std::string_view tool, Syntax syntax, Lines lines) {
  if (!lines.empty()) to.push_back({std::string(tool), syntax, std::move(lines)});
}

}  // namespace

std::string_view name_of(Syntax s) {
  constexpr std::array<std::string_view, 5> kNames = {"shell", "crontab", "terraform", "yaml", "conf"};
  return kNames[static_cast<size_t>(s)];
}

Result<std::vector<Instruction>> instructions(const Change& change, const FleetPlan& before) {
  for (const std::string& name : nodes_of(change))
    if (before.find(name) == nullptr) return make_error(ErrorCode::kNotFound, "no node '{}' in the fleet", name);
  std::vector<Instruction> out;
  add(out, kClouds, Syntax::kShell, machine_lines(change, before));
  add(out, "crontab of a machine that stays on", Syntax::kCrontab, crontab_lines(change, before));
  for (auto* list : {&kubernetes_instructions, &slurm_instructions})
    for (Instruction& instruction : list(change, before))
      out.push_back(std::move(instruction));
  add(out, "Terraform", Syntax::kTerraform, terraform_lines(change, before));
  return out;
}

std::vector<std::string> apply_text(const Change& change, const Books& plan) {
  const FleetPlan fleet = fleet_of(change, plan);
  Lines out;
  const auto append = [&](const Lines& lines) { out.insert(out.end(), lines.begin(), lines.end()); };
  // How long a job may run and which part of a GPU it gets is the scheduler's to know, not the machine's.
  const bool by_scheduler = std::holds_alternative<LimitReservation>(change);
  const auto slurm = slurm_instructions(change, fleet);
  if (by_scheduler)
    for (const Instruction& i : slurm)
      append(i.lines);
  append(machine_lines(change, fleet));
  append(crontab_lines(change, fleet));
  if (!std::holds_alternative<ShareGpus>(change)) return out;
  for (const Instruction& i : kubernetes_instructions(change, fleet)) {
    out.push_back("# " + i.tool + ":");
    append(i.lines);
  }
  for (const Instruction& i : slurm) {
    out.push_back("# " + i.tool + ":");
    append(i.lines);
  }
  return out;
}

}  // namespace stint
