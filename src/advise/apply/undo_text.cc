// The way back from a fleet with a change to the fleet without it, in commands and configuration.
#include <algorithm>

#include "advise/apply/apply_parts.h"
#include "base/quoting.h"
#include "base/short_money.h"
#include "catalog/providers/provider.h"

namespace stint {
namespace {

Lines sharing_lines(const PlannedNode& before, const PlannedNode& after) {
  Lines out;
  for (const GpuSharing& gpu : after.sharing) {
    if (std::ranges::find(before.sharing, gpu) != before.sharing.end()) continue;
    if (gpu.mode == SharingMode::kMig)
      out.push_back(fmt::format("ssh {} 'nvidia-smi mig -i {} -dci && nvidia-smi mig -i {} -dgi && nvidia-smi -i {} -mig 0'",
                                shell_operand(after.name), gpu.gpu, gpu.gpu, gpu.gpu));
    else if (gpu.mode == SharingMode::kMps)
      out.push_back(fmt::format("ssh {} 'echo quit | nvidia-cuda-mps-control && nvidia-smi -i {} -c DEFAULT'",
                                shell_operand(after.name), gpu.gpu));
    else
      out.push_back(fmt::format("# {}: GPU {} goes to one workload again", one_line(after.name), gpu.gpu));
  }
  for (const GpuSharing& gpu : before.sharing)
    if (std::ranges::find(after.sharing, gpu) == after.sharing.end())
      out.push_back(
          fmt::format("# {}: GPU {} was shared by {} before: share it again", one_line(before.name), gpu.gpu, name_of(gpu.mode)));
  return out;
}

/// One node from `after` to `before`.
Lines node_lines(const PlannedNode& before, const PlannedNode& after) {
  Lines out;
  const bool moved = before.region != after.region;
  const bool bought_otherwise = before.market != after.market;
  if (moved || bought_otherwise) {
    if (bought_otherwise) out.push_back(fmt::format("# {} on {} again:", one_line(before.name), name_of(before.market)));
    out.push_back(before.market == Market::kSpot ? spot_command(before) : create_command(before));
    out.push_back(later("when the work runs there", machine_command(after, MachineAction::kGiveBack)));
  } else if (before.instance_type != after.instance_type) {
    out.push_back(machine_command(after, MachineAction::kResize, before.instance_type));
  }
  if (before.off != after.off) {
    out.push_back(fmt::format("# take the lines of {} out of the crontab (scheduler, reservation), then:", one_line(after.name)));
    out.push_back(machine_command(after, MachineAction::kStart));
  }
  const Lines sharing = sharing_lines(before, after);
  out.insert(out.end(), sharing.begin(), sharing.end());
  return out;
}

std::string kubernetes_line(const FleetUndo::Altered<PlannedNode>& node) {
  if (!node.before) return fmt::format("kubectl drain --ignore-daemonsets --delete-emptydir-data {}", shell_operand(node.name));
  if (node.after && node.before->sharing != node.after->sharing)
    return fmt::format("kubectl label node {} nvidia.com/mig.config- nvidia.com/device-plugin.config-", shell_operand(node.name));
  return "kubectl uncordon " + shell_operand(node.name);
}

}  // namespace

std::vector<Instruction> undo_instructions(const FleetUndo& undo) {
  Instruction machines{"AWS, Google Cloud, Azure; the machines themselves", Syntax::kShell, {}};
  Instruction kubernetes{"Kubernetes", Syntax::kShell, {}};
  Instruction slurm{"Slurm", Syntax::kShell, {}};
  for (const auto& node : undo.nodes) {
    Lines lines;
    if (!node.after)
      lines = {node.before->market == Market::kSpot ? spot_command(*node.before) : create_command(*node.before)};
    else if (!node.before)
      lines = {machine_command(*node.after, MachineAction::kGiveBack)};
    else
      lines = node_lines(*node.before, *node.after);
    machines.lines.insert(machines.lines.end(), lines.begin(), lines.end());
    kubernetes.lines.push_back(kubernetes_line(node));
    slurm.lines.push_back(fmt::format("scontrol update {} State={}", shell_quoted("NodeName=" + node.name),
                                      node.before ? "RESUME" : "DRAIN Reason='stint: undone'"));
  }
  for (const auto& limit : undo.limits)
    slurm.lines.push_back(
        limit.before ? fmt::format("# {}: at most {:.1f} h again", one_line(limit.name), limit.before->to_hours())
                     : fmt::format("# {}: the time it had before, in the job script (#SBATCH --time)", one_line(limit.name)));
  const auto add = [&machines](const Lines& lines) { machines.lines.insert(machines.lines.end(), lines.begin(), lines.end()); };
  for (const Commit& bought : undo.bought) {
    const Provider& provider = provider_of(bought.provider);
    add({fmt::format("# the commitment to {} × {} runs and is paid until its term ends{}", bought.count,
                     one_line(bought.instance_type), provider.facts().sale_of_commitment)});
    add(provider.undo(bought));
  }
  for (const SavingsPlan& plan : undo.bought_plans) {
    const Provider& provider = provider_of(plan.provider);
    add({fmt::format("# the savings plan of {} an hour at {} runs and is paid until its term ends{}", short_money(plan.per_hour),
                     one_line(plan.provider), provider.facts().return_of_savings_plan)});
    add(provider.undo(plan));
  }
  std::vector<Instruction> out;
  for (Instruction* i : {&machines, &kubernetes, &slurm})
    if (!i->lines.empty()) out.push_back(std::move(*i));
  if (!undo.nodes.empty())
    out.push_back({"Terraform", Syntax::kTerraform, {"# put the blocks back as they were, from version control, and apply"}});
  return out;
}

}  // namespace stint
