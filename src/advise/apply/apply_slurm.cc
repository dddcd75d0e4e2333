// A Change as what Slurm has to be told: scontrol, and lines of slurm.conf and gres.conf.
//
// Sources: Slurm's manual pages scontrol(1), slurm.conf(5), gres.conf(5), and "Generic Resource (GRES) Scheduling" for MIG, MPS and shards.
#include <algorithm>
#include <map>

#include "advise/apply/apply_parts.h"
#include "base/quoting.h"
#include "catalog/providers/provider.h"

namespace stint {
namespace {

/// What may stand for itself in a configuration file; anything else could end the line or begin a comment.
bool is_plain(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

std::string conf_line(const std::string& node, const std::string& rest) {
  if (!is_plain(node)) return fmt::format("# {}: no name Slurm could have for a node: {}", one_line(node), one_line(rest));
  return fmt::format("NodeName={} {}", node, rest);
}

Instruction slurm_shell(Lines lines) { return {"Slurm", Syntax::kShell, std::move(lines)}; }

/// NodeName= is part of the word that is quoted.
std::string update(const std::string& node, std::string_view what) {
  return fmt::format("scontrol update {} {}", shell_quoted("NodeName=" + node), what);
}

std::vector<Instruction> slurm_drained(const std::vector<std::string>& nodes, std::string_view reason, std::string_view then) {
  Lines lines;
  for (const std::string& name : nodes)
    lines.push_back(update(name, fmt::format("State=DRAIN Reason='stint: {}'", reason)));
  if (!then.empty()) {
    lines.push_back(fmt::format("# once slurm_drained ({}):", then == "FUTURE" ? "the machine is gone" : "the machine is ready"));
    for (const std::string& name : nodes)
      lines.push_back(update(name, fmt::format("State={}", then)));
  }
  if (nodes.empty()) return {};
  return {slurm_shell(std::move(lines))};
}

std::vector<Instruction> slurm_given_up(const std::vector<std::string>& nodes) {
  return slurm_drained(nodes, "given back", "FUTURE");
}

std::string hour_text(size_t hour_of_week) {
  constexpr const char* kDays[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
  return fmt::format("{} {:02}:00", kDays[hour_of_week / 24], hour_of_week % 24);
}

struct SlurmWriter {
  const FleetPlan& fleet;

  std::vector<Instruction> operator()(const StopNodes& c) const { return slurm_given_up(c.nodes); }

  std::vector<Instruction> operator()(const ScheduleOff& c) const {
    Lines lines;
    size_t number = 0;
    for (const auto& [from, to] : spans_of(c.off)) {
      const size_t hours = from == to ? 168 : (to + 168 - from) % 168;
      for (const std::string& name : c.nodes)
        lines.push_back(
            fmt::format("scontrol create reservation ReservationName=stint-off-{} {} StartTime=\"$(date -d 'TZ=\"UTC\" next {}' "
                        "+%FT%T)\" Duration={} Flags=MAINT,WEEKLY,IGNORE_JOBS Users=root",
                        ++number, shell_quoted("Nodes=" + name), hour_text(from), hours * 60));
    }
    return {slurm_shell(std::move(lines))};
  }

  std::vector<Instruction> operator()(const ResizeNodes& c) const {
    std::vector<std::string> stay = c.nodes;
    std::vector<std::string> go;
    if (c.to_count < static_cast<int64_t>(stay.size())) {
      go.assign(stay.begin() + c.to_count, stay.end());
      stay.resize(static_cast<size_t>(c.to_count));
    }
    std::erase_if(stay, [&](const std::string& name) {
      const PlannedNode* node = fleet.find(name);
      return node != nullptr && node->instance_type == c.to_instance_type && c.to_region.empty();
    });
    if (stay.empty()) return slurm_given_up(go);
    std::vector<Instruction> out = slurm_drained(stay, "becomes another type", "RESUME");
    for (Instruction& i : slurm_given_up(go))
      out.push_back(std::move(i));
    Instruction conf{"Slurm, slurm.conf: CPUs, memory and Gres as `slurmd -C` prints them on the new machine", Syntax::kConf, {}};
    for (const std::string& name : stay)
      conf.lines.push_back(to_fill_in("CPUS, MIB and GPUS", conf_line(name, "CPUs=CPUS RealMemory=MIB Gres=gpu:GPUS")));
    out.push_back(std::move(conf));
    return out;
  }

  std::vector<Instruction> operator()(const ShareGpus& c) const {
    Instruction gres{"Slurm, gres.conf", Syntax::kConf, {}};
    Instruction nodes{"Slurm, slurm.conf", Syntax::kConf, {}};
    nodes.lines.emplace_back(c.mode == SharingMode::kMig   ? "GresTypes=gpu"
                             : c.mode == SharingMode::kMps ? "GresTypes=gpu,mps"
                                                           : "GresTypes=gpu,shard");
    for (const std::string& name : c.keep)
      c.mode == SharingMode::kMig ? add_mig(c, name, gres, nodes) : add_parts(c, name, gres, nodes);
    if (c.mode == SharingMode::kMig) add_partition(c, gres, nodes);
    std::vector<Instruction> out = {gres, nodes, slurm_shell({"scontrol reconfigure"})};
    for (Instruction& i : slurm_given_up(given_back(c)))
      out.push_back(std::move(i));
    return out;
  }

  std::vector<Instruction> operator()(const SwitchMarket& c) const {
    Lines lines;
    for (const std::string& name : c.nodes)
      lines.push_back(update(name, fmt::format("AvailableFeatures={0} ActiveFeatures={0}", name_of(c.to))));
    if (c.to == Market::kSpot) lines.emplace_back("# jobs that may run there: #SBATCH --requeue --constraint=spot");
    return {slurm_shell(std::move(lines))};
  }

  std::vector<Instruction> operator()(const Commit&) const { return {}; }  // a matter of the bill
  std::vector<Instruction> operator()(const SavingsPlan&) const { return {}; }

  std::vector<Instruction> operator()(const LimitReservation& c) const {
    const int64_t minutes = std::max<int64_t>(1, (c.to.whole_seconds() + 59) / 60);
    const std::string limit = fmt::format("{}:{:02}:00", minutes / 60, minutes % 60);
    return {slurm_shell({to_fill_in(fmt::format("JOB, the id of a job {}", one_line(c.workload)),
                                    fmt::format("scontrol update JobId=JOB TimeLimit={}", limit)),
                         fmt::format("# or in the job script: #SBATCH --time={}", limit)})};
  }

  std::vector<Instruction> operator()(const MoveOffGpu& c) const {
    std::vector<Instruction> out = slurm_given_up(c.nodes);
    if (!out.empty()) out.front().lines.emplace_back("# the jobs that ran there: without --gres and --gpus");
    return out;
  }

  std::vector<Instruction> operator()(const MoveRegion& c) const { return slurm_given_up(c.nodes); }

 private:
  /// Machines that are cut have their own partition: a job for a whole GPU would wait there for ever.
  static void add_partition(const ShareGpus& c, Instruction& gres, Instruction& nodes) {
    gres.lines.emplace_back("# a Slurm built without NVML needs a line for each instance: NodeName=NODE Name=gpu Type=PROFILE");
    gres.lines.emplace_back("#   MultipleFiles=/dev/nvidiaN,/dev/nvidia-caps/nvidia-capGI,/dev/nvidia-caps/nvidia-capCI");
    std::string list;
    for (const std::string& name : c.keep)
      if (is_plain(name)) list += (list.empty() ? "" : ",") + name;
    if (list.empty()) return;
    nodes.lines.push_back(fmt::format("PartitionName=mig Nodes={} State=UP", list));
    nodes.lines.emplace_back(
        "# these Gres= take the place of the machines' own; jobs: #SBATCH --partition=mig --gres=gpu:PROFILE:1");
  }

  static void add_mig(const ShareGpus& c, const std::string& name, Instruction& gres, Instruction& nodes) {
    std::map<std::string, int> profiles;
    for (const ShareGpus::Placement& p : c.placements)
      if (p.to_node == name && !p.mig_profile.empty()) ++profiles[p.mig_profile];
    std::string list;
    for (const auto& [profile, count] : profiles)
      if (is_plain(profile)) list += fmt::format("{}gpu:{}:{}", list.empty() ? "" : ",", profile, count);
    gres.lines.push_back(conf_line(name, "AutoDetect=nvml"));
    nodes.lines.push_back(conf_line(name, fmt::format("Gres={}", list.empty() ? "gpu" : list)));
  }

  /// An mps of 100 is one GPU; shards count as many as work lies on the fullest GPU.
  static void add_parts(const ShareGpus& c, const std::string& name, Instruction& gres, Instruction& nodes) {
    size_t gpus = 0;
    size_t most = 1;
    for (const auto& [gpu, placements] : by_gpu(c)) {
      if (gpu.first != name) continue;
      ++gpus;
      most = std::max(most, placements.size());
    }
    const std::string_view kind = c.mode == SharingMode::kMps ? "mps" : "shard";
    const size_t count = gpus * (c.mode == SharingMode::kMps ? 100 : most);
    gres.lines.push_back(conf_line(name, fmt::format("Name={} Count={}", kind, count)));
    nodes.lines.push_back(conf_line(name, fmt::format("Gres=gpu:{},{}:{}", gpus, kind, count)));
  }
};

}  // namespace

std::vector<Instruction> slurm_instructions(const Change& change, const FleetPlan& fleet) {
  return std::visit(SlurmWriter{fleet}, change);
}

}  // namespace stint
