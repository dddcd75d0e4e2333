// A Change as commands to the machines and their providers.
#include <algorithm>

#include "advise/apply/apply_parts.h"
#include "base/quoting.h"
#include "catalog/providers/provider.h"

namespace stint {
namespace {

class MachineWriter {
 public:
  explicit MachineWriter(const FleetPlan& fleet) : fleet_(fleet) {}

  Lines operator()(const StopNodes& c) const { return each(c.nodes, MachineAction::kGiveBack); }
  Lines operator()(const ScheduleOff&) const { return {}; }  // by the clock: crontab_lines()

  Lines operator()(const ResizeNodes& c) const {
    Lines out;
    for (size_t i = 0; i < c.nodes.size(); ++i) {
      const bool stays = static_cast<int64_t>(i) < c.to_count;
      if (stays && c.to_region.empty() && node(c.nodes[i]).instance_type == c.to_instance_type) continue;
      out.push_back(stays ? machine_command(node(c.nodes[i]), MachineAction::kResize, c.to_instance_type)
                          : machine_command(node(c.nodes[i]), MachineAction::kGiveBack));
    }
    for (auto i = static_cast<int64_t>(c.nodes.size()); i < c.to_count; ++i) {
      PlannedNode more = node(c.nodes.front());
      more.name = fmt::format("{}-{}", more.name, i + 1);
      more.resource_id = more.name;
      more.instance_type = c.to_instance_type;
      out.push_back(create_command(more));
    }
    return out;
  }

  Lines operator()(const ShareGpus& c) const {
    Lines out = c.mode == SharingMode::kMig ? mig(c) : side_by_side(c);
    give_back_later(given_back(c), "when the work runs on its new place", out);
    return out;
  }

  Lines operator()(const SwitchMarket& c) const {
    const bool to_spot = c.to == Market::kSpot;
    Lines out;
    if (to_spot)
      out.emplace_back(
          "# save checkpoints as often as the finding says (stint audit --explain); on the notice (AWS 120 s, others about 30 s) "
          "save once more and requeue");
    if (c.to == Market::kReserved) out.emplace_back("# a commitment covers machines on demand by itself: buy it, see `commit`");
    for (const std::string& name : c.nodes)
      out.push_back(to_spot ? spot_command(node(name)) : create_command(node(name)));
    give_back_later(c.nodes, "when the work runs there", out);
    const Lines clock = clocks_of_the_new(c);
    out.insert(out.end(), clock.begin(), clock.end());
    return out;
  }

  Lines operator()(const Commit& c) const { return provider_of(c.provider).buy(c); }
  Lines operator()(const SavingsPlan& c) const { return provider_of(c.provider).buy(c); }

  Lines operator()(const LimitReservation& c) const {
    Lines out;
    for (const std::string& line : each(c.nodes, MachineAction::kStop))
      out.push_back(later("when the job has ended, for example as its last step", line));
    return out;
  }

  Lines operator()(const MoveOffGpu& c) const {
    Lines out;
    for (const std::string& name : c.nodes) {
      PlannedNode fresh = node(name);
      fresh.name += "-cpu";
      fresh.resource_id = fresh.name;
      fresh.instance_type = c.to_instance_type.empty() ? "CPU_TYPE" : c.to_instance_type;
      const std::string create = create_command(fresh);
      out.push_back(c.to_instance_type.empty() ? to_fill_in("CPU_TYPE, a type without GPUs", create) : create);
    }
    give_back_later(c.nodes, "when the CPU work runs there", out);
    return out;
  }

  Lines operator()(const MoveRegion& c) const {
    Lines out = {fmt::format("# copy images and data to {} first", one_line(c.to_region))};
    for (const std::string& name : c.nodes) {
      PlannedNode fresh = node(name);
      fresh.region = c.to_region;
      fresh.zone.clear();
      out.push_back(fresh.market == Market::kSpot ? spot_command(fresh) : create_command(fresh));
    }
    give_back_later(c.nodes, "when the work runs there", out);
    return out;
  }

 private:
  const PlannedNode& node(const std::string& name) const { return *fleet_.find(name); }

  /// Hours off that an earlier change gave a machine go on with the one that takes its place.
  Lines clocks_of_the_new(const SwitchMarket& c) const {
    FleetPlan after = fleet_;
    if (!carry_out(after, Change(c)).ok()) return {};
    Lines out;
    for (const std::string& name : c.nodes) {
      const WeekHours& off = node(name).off;
      if (off.none()) continue;
      out.push_back(
          fmt::format("# {} is off by the clock: in the place of the crontab lines of the machine given back:", one_line(name)));
      const Lines clock = crontab_lines(ScheduleOff{{name}, off}, after);
      // Lines of a crontab are no commands of a shell.
      for (const std::string& line : Lines(clock.begin() + 1, clock.end()))
        out.push_back("#   " + line);
    }
    return out;
  }

  Lines each(const std::vector<std::string>& nodes, MachineAction action) const {
    Lines out;
    for (const std::string& name : nodes)
      out.push_back(machine_command(node(name), action));
    return out;
  }

  /// In comments: run with the lines before, they would take the machine from under its work.
  void give_back_later(const std::vector<std::string>& nodes, std::string_view when, Lines& out) const {
    for (const std::string& line : each(nodes, MachineAction::kGiveBack))
      out.push_back(later(when, line));
  }

  static std::string work_of(const std::vector<const ShareGpus::Placement*>& placements) {
    std::string work;
    for (const auto* p : placements)
      work += (work.empty() ? "" : ", ") + one_line(p->workload);
    return work;
  }

  static Lines mig(const ShareGpus& c) {
    Lines out = {"# on each machine kept, once its GPU is drained:"};
    for (const auto& [gpu, placements] : by_gpu(c)) {
      std::string instances;
      for (const auto* p : placements) {
        if (p->mig_profile.empty()) continue;
        instances += (instances.empty() ? "" : ",") + p->mig_profile;
        if (p->memory_start >= 0) instances += fmt::format(":{}", p->memory_start);
      }
      if (instances.empty()) continue;
      const std::string remote = fmt::format("nvidia-smi -i {} -mig 1 && nvidia-smi mig -i {} -cgi {} -C", gpu.second, gpu.second,
                                             shell_quoted(instances));
      out.push_back(fmt::format("ssh {} {}   # {}", shell_operand(gpu.first), shell_quoted(remote), work_of(placements)));
    }
    return out;
  }

  static Lines side_by_side(const ShareGpus& c) {
    Lines out;
    for (const auto& [gpu, placements] : by_gpu(c)) {
      if (placements.size() < 2) continue;
      if (c.mode == SharingMode::kMps)
        out.push_back(fmt::format(
            "ssh {} 'nvidia-smi -i {} -c EXCLUSIVE_PROCESS && CUDA_VISIBLE_DEVICES={} nvidia-cuda-mps-control -d'   # {}",
            shell_operand(gpu.first), gpu.second, gpu.second, work_of(placements)));
      else
        out.push_back(fmt::format("# {}: GPU {}: CUDA_VISIBLE_DEVICES={} for {}", one_line(gpu.first), gpu.second, gpu.second,
                                  work_of(placements)));
    }
    return out;
  }

  const FleetPlan& fleet_;
};

}  // namespace

Lines machine_lines(const Change& change, const FleetPlan& fleet) { return std::visit(MachineWriter(fleet), change); }

Lines crontab_lines(const Change& change, const FleetPlan& fleet) {
  const auto* schedule = std::get_if<ScheduleOff>(&change);
  if (schedule == nullptr) return {};
  Lines out = {"# crontab of a machine that stays on (CRON_TZ=UTC); off and on again:", "CRON_TZ=UTC"};
  const auto line = [&](size_t hour, const PlannedNode& node, MachineAction action) {
    const std::string command = machine_command(node, action);
    if (command.starts_with('#')) return command;
    return cron_time(hour) + " " + crontab_command(command);
  };
  for (const auto& [from, to] : spans_of(schedule->off))
    for (const std::string& name : schedule->nodes) {
      out.push_back(line(from, *fleet.find(name), MachineAction::kStop));
      out.push_back(line(to, *fleet.find(name), MachineAction::kStart));
    }
  return out;
}

std::string later(std::string_view when, std::string_view command) {
  return fmt::format("# {}: {}", when, command.starts_with("# ") ? command.substr(2) : command);
}

std::map<GpuPlace, std::vector<const ShareGpus::Placement*>> by_gpu(const ShareGpus& change) {
  std::map<GpuPlace, std::vector<const ShareGpus::Placement*>> gpus;
  for (const auto& p : change.placements)
    gpus[{p.to_node, p.to_gpu}].push_back(&p);
  return gpus;
}

std::vector<std::string> given_back(const ShareGpus& change) {
  std::vector<std::string> out = change.nodes;
  std::erase_if(out, [&](const std::string& name) { return std::ranges::find(change.keep, name) != change.keep.end(); });
  return out;
}

}  // namespace stint
