#include "advise/apply_text.h"

#include <algorithm>
#include <map>

#include "advise/cloud_command.h"

namespace stint {
namespace {

using Lines = std::vector<std::string>;

class Writer {
 public:
  explicit Writer(const Books& plan) : plan_(plan) {
    for (const NodeFacts& node : plan.facts().nodes)
      by_name_.emplace(node.name, &node);
  }

  Lines operator()(const StopNodes& c) const { return each(c.nodes, MachineAction::kGiveBack); }

  Lines operator()(const ScheduleOff& c) const {
    Lines out = {"# crontab of a machine that stays on (CRON_TZ=UTC); off and on again:", "CRON_TZ=UTC"};
    for (const auto& [from, to] : spans(c.off))
      for (const std::string& name : c.nodes) {
        out.push_back(cron(from) + machine_command(node(name), MachineAction::kStop));
        out.push_back(cron(to) + machine_command(node(name), MachineAction::kStart));
      }
    return out;
  }

  Lines operator()(const ResizeNodes& c) const {
    Lines out;
    for (size_t i = 0; i < c.nodes.size(); ++i)
      out.push_back(static_cast<int64_t>(i) < c.to_count
                        ? machine_command(node(c.nodes[i]), MachineAction::kResize, c.to_instance_type)
                        : machine_command(node(c.nodes[i]), MachineAction::kGiveBack));
    return out;
  }

  Lines operator()(const ShareGpus& c) const {
    Lines out = c.mode == SharingMode::kMig ? mig(c) : side_by_side(c);
    out.push_back("# when the work runs on its new place:");
    for (const std::string& name : c.nodes)
      if (std::find(c.keep.begin(), c.keep.end(), name) == c.keep.end())
        out.push_back(machine_command(node(name), MachineAction::kGiveBack));
    return out;
  }

  Lines operator()(const SwitchMarket& c) const {
    Lines out = {"# checkpoint at the interval above; on the notice (AWS 120 s, others about 30 s) save once more and requeue"};
    for (const std::string& name : c.nodes)
      out.push_back(spot_command(node(name), plan_.of(node(name).id).instance_type));
    return out;
  }

  Lines operator()(const Commit& c) const {
    if (c.provider == "aws")
      return {fmt::format(
                  "aws ec2 describe-reserved-instances-offerings --region {} --instance-type {} --product-description Linux/UNIX "
                  "--min-duration 31536000 --max-duration 31536000 --offering-class standard",
                  quoted(c.region), quoted(c.instance_type)),
              fmt::format("aws ec2 purchase-reserved-instances-offering --region {} --instance-count {} "
                          "--reserved-instances-offering-id OFFERING",
                          quoted(c.region), c.count)};
    if (c.provider == "gcp")
      return {
          fmt::format("# machines covered: {} × {}; vCPUs, memory and GPUs are committed to separately", c.count,
                      c.instance_type),
          fmt::format("gcloud compute commitments create {}-1y --region {} --plan 12-month --resources vcpu=VCPUS,memory=MEMORY "
                      "--resources-accelerator count=GPUS,type=GPU_TYPE",
                      quoted(c.instance_type), quoted(c.region))};
    if (c.provider == "azure")
      return {fmt::format(
          "az reservations reservation-order calculate --sku {} --location {} --quantity {} --term P1Y --reserved-resource-type "
          "VirtualMachines --applied-scope-type Shared --billing-plan Monthly --billing-scope SUBSCRIPTION --display-name stint",
          quoted(c.instance_type), quoted(c.region), c.count)};
    return {fmt::format("# commit to {} × {} for a year at provider '{}'", c.count, quoted(c.instance_type), quoted(c.provider))};
  }

  Lines operator()(const LimitReservation& c) const {
    const int64_t hours = c.to.whole_seconds() / 3600;
    Lines out = {fmt::format("scontrol update JobId=JOB TimeLimit={}:00:00   # or in the job script: #SBATCH --time={}:00:00",
                             hours, hours),
                 "# and let the machines go when the job ends, for example at its end:"};
    for (const std::string& name : c.nodes)
      out.push_back(machine_command(node(name), MachineAction::kStop));
    return out;
  }

  Lines operator()(const MoveOffGpu& c) const {
    Lines out = {fmt::format("# start {} × {} for the CPU work, move it, then:", c.nodes.size(), c.to_instance_type)};
    const Lines stop = each(c.nodes, MachineAction::kGiveBack);
    out.insert(out.end(), stop.begin(), stop.end());
    return out;
  }

  Lines operator()(const MoveRegion& c) const {
    Lines out = {fmt::format("# copy images and data to {}, start the same types there, then:", c.to_region)};
    const Lines stop = each(c.nodes, MachineAction::kGiveBack);
    out.insert(out.end(), stop.begin(), stop.end());
    return out;
  }

 private:
  const NodeFacts& node(const std::string& name) const { return *by_name_.at(name); }

  Lines each(const std::vector<std::string>& nodes, MachineAction action) const {
    Lines out;
    for (const std::string& name : nodes)
      out.push_back(machine_command(node(name), action));
    return out;
  }

  /// Stretches of the circular week that are off: first hour off, first hour on again.
  static std::vector<std::pair<size_t, size_t>> spans(const WeekHours& off) {
    std::vector<std::pair<size_t, size_t>> out;
    for (size_t h = 0; h < 168; ++h) {
      if (!off[h] || off[(h + 167) % 168]) continue;
      size_t end = h;
      while (off[end % 168] && end < h + 168)
        ++end;
      out.emplace_back(h, end % 168);
    }
    return out;
  }

  /// "0 22 * * 5 ": cron counts the days from Sunday.
  static std::string cron(size_t hour_of_week) {
    return fmt::format("0 {} * * {} ", hour_of_week % 24, (hour_of_week / 24 + 1) % 7);
  }

  using Gpu = std::pair<std::string, int>;
  static std::map<Gpu, std::vector<const ShareGpus::Placement*>> by_gpu(const ShareGpus& c) {
    std::map<Gpu, std::vector<const ShareGpus::Placement*>> gpus;
    for (const auto& p : c.placements)
      gpus[{p.to_node, p.to_gpu}].push_back(&p);
    return gpus;
  }

  static Lines mig(const ShareGpus& c) {
    Lines out = {"# on each machine kept, once its GPU is drained:"};
    std::map<std::string, std::string> gres;
    for (const auto& [gpu, placements] : by_gpu(c)) {
      std::string instances, work;
      for (const auto* p : placements) {
        if (p->mig_profile.empty()) continue;
        instances += (instances.empty() ? "" : ",") + fmt::format("{}:{}", p->mig_profile, p->memory_start);
        work += (work.empty() ? "" : ", ") + p->workload;
        gres[gpu.first] += (gres[gpu.first].empty() ? "" : ",") + p->mig_profile;
      }
      if (instances.empty()) continue;
      out.push_back(fmt::format("ssh {} 'nvidia-smi -i {} -mig 1 && nvidia-smi mig -i {} -cgi {} -C'   # {}", quoted(gpu.first),
                                gpu.second, gpu.second, instances, work));
    }
    out.push_back(
        "# Kubernetes, values of the NVIDIA device plugin: --set migStrategy=mixed; pods then ask for nvidia.com/mig-PROFILE: 1");
    for (const auto& [name, profiles] : gres)
      out.push_back(fmt::format("# Slurm gres.conf: NodeName={} AutoDetect=nvml   # {}", name, profiles));
    return out;
  }

  static Lines side_by_side(const ShareGpus& c) {
    Lines out;
    size_t most = 1;
    for (const auto& [gpu, placements] : by_gpu(c)) {
      most = std::max(most, placements.size());
      if (placements.size() < 2) continue;
      std::string work;
      for (const auto* p : placements)
        work += (work.empty() ? "" : ", ") + p->workload;
      if (c.mode == SharingMode::kMps)
        out.push_back(fmt::format(
            "ssh {} 'nvidia-smi -i {} -c EXCLUSIVE_PROCESS && CUDA_VISIBLE_DEVICES={} nvidia-cuda-mps-control -d'   # {}",
            quoted(gpu.first), gpu.second, gpu.second, work));
      else
        out.push_back(fmt::format("# {}: GPU {}: CUDA_VISIBLE_DEVICES={} for {}", gpu.first, gpu.second, gpu.second, work));
    }
    out.push_back("# Kubernetes, configuration of the NVIDIA device plugin:");
    out.push_back(fmt::format("version: v1\nsharing:\n  {}:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: {}",
                              c.mode == SharingMode::kMps ? "mps" : "timeSlicing", most));
    out.push_back(fmt::format("# Slurm gres.conf: Name={} Count={}", c.mode == SharingMode::kMps ? "mps" : "shard",
                              c.mode == SharingMode::kMps ? most * 100 : most));
    return out;
  }

  const Books& plan_;
  std::map<std::string, const NodeFacts*, std::less<>> by_name_;
};

}  // namespace

std::vector<std::string> apply_text(const Change& change, const Books& plan) { return std::visit(Writer(plan), change); }

}  // namespace stint
