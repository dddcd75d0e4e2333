#include "backends/slurm/slurm_fleet.h"

#include <algorithm>

#include "base/counted.h"
#include "codec/slurm/hostlist.h"
#include "model/mig_ask.h"

namespace stint {
namespace {

bool is_free(std::string_view name, const SlurmView& view) {
  return std::ranges::none_of(view.entries, [&](const SlurmEntry& entry) {
    if (entry.on_nodes.empty() || has_ended(entry.state)) return false;
    const auto names = expand_hostlist(entry.on_nodes);
    return names.ok() && std::ranges::find(*names, name) != names->end();
  });
}

/// What Slurm says it is made of. @param configured  says what GPUs are that Slurm only knows as MIG devices, and how much memory they have
NodeSpec made_of(const SlurmMachine& machine, const NodeSpec& configured) {
  NodeSpec node = node_of(machine);
  node.gpu_memory = configured.gpu_memory;
  const SlurmParts parts = parts_of(machine);
  node.shared_gpus = parts.per_gpu > 0;
  node.gpu_parts = static_cast<int32_t>(parts.per_gpu);
  if (node.gpus > 0 || node.static_mig.empty()) return node;
  node.whole_gpus = false;
  node.gpu_model = configured.gpu_model;
  node.gpus = configured.gpus;
  if (node.gpus > 0) return node;
  constexpr int64_t kGpu = 1000;
  node.gpus = static_cast<int32_t>((compute_milli(node.gpu_model, node.static_mig) + kGpu - 1) / kGpu);
  return node;
}

}  // namespace

MachineReport SlurmFleet::report_of(const SlurmMachine& machine, const SlurmView& view) const {
  MachineReport report{.news = MachineNews::kThere, .machine = {}, .detail = ""};
  if (const auto configured = configured_.find(machine.name); configured != configured_.end())
    report.machine = configured->second;
  report.machine.node = made_of(machine, report.machine.node);
  // What a job may run on is fixed when it comes: a machine that is used stays what it was.
  const auto before = reports_.find(machine.name);
  if (before != reports_.end() && before->second.machine != report.machine && !is_free(machine.name, view))
    report.machine = before->second.machine;
  if (!machine.takes_work) {
    report.news = MachineNews::kDraining;
    report.cause = machine.state.find("DOWN") == std::string::npos ? MachineCause::kMaintenance : MachineCause::kBroken;
    report.detail = is_absent_in_slurm(machine.reason) ? machine.state : machine.reason;
  }
  return report;
}

/// Slurm (22.05) can lose count of GPUs when slurmctld is restarted, and starts nothing there. Nodes and queue are not of one moment: what
/// is so at two looks counts.
std::set<std::string, std::less<>> SlurmFleet::miscounted(const SlurmView& view) const {
  std::set<std::string, std::less<>> names;
  for (const SlurmMachine& machine : view.machines)
    if (machine.gpus_used > 0 && machine.state.find("COMPLETING") == std::string::npos && is_free(machine.name, view))
      names.insert(machine.name);
  return names;
}

std::vector<MachineReport> SlurmFleet::look(const SlurmView& view) {
  std::set<std::string, std::less<>> wrong = miscounted(view);
  std::map<std::string, MachineReport, std::less<>> found;
  for (const SlurmMachine& machine : view.machines) {
    MachineReport& report = found.emplace(machine.name, report_of(machine, view)).first->second;
    if (report.news != MachineNews::kThere || !wrong.contains(machine.name) || !miscounted_.contains(machine.name)) continue;
    report.news = MachineNews::kDraining;
    report.cause = MachineCause::kBroken;
    report.detail = fmt::format("Slurm counts {} as used and no job is on it, so it starts nothing there: restart slurmctld",
                                counted(machine.gpus_used, "GPU"));
  }
  miscounted_ = std::move(wrong);
  std::vector<MachineReport> news;
  for (const auto& [name, report] : reports_)
    if (!found.contains(name))
      news.push_back({.news = MachineNews::kGone, .machine = report.machine, .detail = "Slurm no longer has it"});
  for (const auto& [name, report] : found) {
    const auto before = reports_.find(name);
    const bool is_new = before == reports_.end();
    if (!is_new && before->second.news == report.news && before->second.machine == report.machine) continue;
    // What takes no work has to be known first.
    if (is_new && report.news != MachineNews::kThere)
      news.push_back({.news = MachineNews::kThere, .machine = report.machine, .detail = ""});
    news.push_back(report);
  }
  reports_ = std::move(found);
  return news;
}

std::vector<MachineReport> SlurmFleet::machines() const {
  std::vector<MachineReport> all;
  for (const auto& [name, report] : reports_)
    all.push_back(report);
  return all;
}

}  // namespace stint
