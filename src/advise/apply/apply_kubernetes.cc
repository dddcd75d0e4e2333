// A Change as what Kubernetes has to be told: drains, labels, selectors, and configuration of NVIDIA's device plugin and MIG manager.
//
// Sources: kubernetes.io well-known labels; NVIDIA k8s-device-plugin README, "Shared access to GPUs"; NVIDIA mig-parted, configuration
// of the GPU operator's MIG manager; the providers' own labels of spot nodes (EKS capacityType, GKE gke-spot, AKS scalesetpriority).
#include <algorithm>
#include <map>

#include "advise/apply/apply_parts.h"
#include "base/quoting.h"
#include "catalog/providers/provider.h"

namespace stint {
namespace {

constexpr std::string_view kDrain = "--ignore-daemonsets --delete-emptydir-data";

Instruction kubernetes_shell(Lines lines) { return {"Kubernetes", Syntax::kShell, std::move(lines)}; }
Instruction pods(Lines lines) { return {"Kubernetes, in the pods' specification", Syntax::kYaml, std::move(lines)}; }

Lines kubernetes_drained(const std::vector<std::string>& nodes) {
  Lines out;
  for (const std::string& name : nodes)
    out.push_back(fmt::format("kubectl drain {} {}", kDrain, shell_operand(name)));
  return out;
}

std::vector<Instruction> kubernetes_given_up(const std::vector<std::string>& nodes) {
  Lines lines = kubernetes_drained(nodes);
  for (const std::string& name : nodes)
    lines.push_back("kubectl delete node " + shell_operand(name));
  if (lines.empty()) return {};
  return {kubernetes_shell(std::move(lines))};
}

Lines selector(std::string_view label, const std::string& value) {
  return {"nodeSelector:", fmt::format("  {}: {}", label, json_quoted(value))};
}

struct KubernetesWriter {
  const FleetPlan& fleet;

  std::vector<Instruction> operator()(const StopNodes& c) const { return kubernetes_given_up(c.nodes); }

  std::vector<Instruction> operator()(const ScheduleOff& c) const {
    Instruction out{"Kubernetes, crontab beside the machines' own", Syntax::kCrontab, {"CRON_TZ=UTC"}};
    for (const auto& [from, to] : spans_of(c.off))
      for (const std::string& name : c.nodes) {
        const std::string node = crontab_command(shell_operand(name));
        out.lines.push_back(fmt::format("{} kubectl drain {} {}", cron_time(from), kDrain, node));
        out.lines.push_back(fmt::format("{} kubectl uncordon {}", cron_time(to), node));
      }
    return {out};
  }

  std::vector<Instruction> operator()(const ResizeNodes& c) const {
    if (is_of_type(c.nodes, c.to_instance_type) && c.to_region.empty()) {
      const auto kept = std::min<ptrdiff_t>(c.to_count, std::ssize(c.nodes));
      return kubernetes_given_up({c.nodes.begin() + kept, c.nodes.end()});
    }
    Lines lines = selector("node.kubernetes.io/instance-type", c.to_instance_type);
    return {kubernetes_shell(kubernetes_drained(c.nodes)), pods(std::move(lines))};
  }

  std::vector<Instruction> operator()(const ShareGpus& c) const {
    std::vector<Instruction> out = {c.mode == SharingMode::kMig ? mig_config(c) : device_plugin(c)};
    Lines labels;
    const std::string_view label = c.mode == SharingMode::kMig ? "nvidia.com/mig.config" : "nvidia.com/device-plugin.config";
    for (size_t i = 0; i < c.keep.size(); ++i)
      labels.push_back(
          fmt::format("kubectl label --overwrite node {} {}={}", shell_operand(c.keep[i]), label, config_name(c, i)));
    out.push_back(kubernetes_shell(std::move(labels)));
    if (c.mode == SharingMode::kMig)
      out.push_back({"Kubernetes, values of the NVIDIA device plugin; pods then ask for nvidia.com/mig-PROFILE: 1",
                     Syntax::kYaml,
                     {"migStrategy: mixed"}});
    for (Instruction& i : kubernetes_given_up(given_back(c)))
      out.push_back(std::move(i));
    return out;
  }

  std::vector<Instruction> operator()(const SwitchMarket& c) const {
    std::vector<Instruction> out;
    if (c.to == Market::kSpot && !c.nodes.empty()) {
      const ProviderFacts& facts = provider_of(fleet.find(c.nodes.front())->provider).facts();
      const std::string label(facts.spot_label), value(facts.spot_label_value);
      Lines lines = selector(label, value);
      lines.emplace_back("tolerations:");
      lines.push_back(
          fmt::format("- {{key: {}, operator: Equal, value: {}, effect: NoSchedule}}", json_quoted(label), json_quoted(value)));
      out.push_back(pods(std::move(lines)));
    }
    for (Instruction& i : kubernetes_given_up(c.nodes))
      out.push_back(std::move(i));
    return out;
  }

  std::vector<Instruction> operator()(const Commit&) const { return {}; }  // a matter of the bill
  std::vector<Instruction> operator()(const SavingsPlan&) const { return {}; }

  std::vector<Instruction> operator()(const LimitReservation& c) const {
    return {
        {"Kubernetes, in the specification of the Job",
         Syntax::kYaml,
         {"# " + one_line(c.workload), fmt::format("activeDeadlineSeconds: {}", std::max<int64_t>(1, c.to.whole_seconds()))}}};
  }

  std::vector<Instruction> operator()(const MoveOffGpu& c) const {
    std::vector<Instruction> out;
    if (!c.to_instance_type.empty()) {
      Lines lines = selector("node.kubernetes.io/instance-type", c.to_instance_type);
      lines.emplace_back("# and no nvidia.com/gpu under resources");
      out.push_back(pods(std::move(lines)));
    }
    for (Instruction& i : kubernetes_given_up(c.nodes))
      out.push_back(std::move(i));
    return out;
  }

  std::vector<Instruction> operator()(const MoveRegion& c) const {
    std::vector<Instruction> out = {pods(selector("topology.kubernetes.io/region", c.to_region))};
    for (Instruction& i : kubernetes_given_up(c.nodes))
      out.push_back(std::move(i));
    return out;
  }

 private:
  bool is_of_type(const std::vector<std::string>& nodes, const std::string& type) const {
    return std::ranges::all_of(nodes, [&](const std::string& name) {
      const PlannedNode* node = fleet.find(name);
      return node != nullptr && node->instance_type == type;
    });
  }

  /// MIG differs from node to node; replicas are one configuration for all.
  static std::string config_name(const ShareGpus& c, size_t kept) {
    return c.mode == SharingMode::kMig ? fmt::format("stint-{}", kept + 1) : "stint";
  }

  static Instruction mig_config(const ShareGpus& c) {
    Instruction out{
        "Kubernetes, configuration of the GPU operator's MIG manager", Syntax::kYaml, {"version: v1", "mig-configs:"}};
    for (size_t i = 0; i < c.keep.size(); ++i) {
      out.lines.push_back(fmt::format("  {}:  # {}", config_name(c, i), one_line(c.keep[i])));
      for (const auto& [gpu, placements] : by_gpu(c)) {
        if (gpu.first != c.keep[i]) continue;
        std::map<std::string, int> profiles;
        for (const auto* p : placements)
          if (!p->mig_profile.empty()) ++profiles[p->mig_profile];
        out.lines.push_back(fmt::format("  - devices: [{}]", gpu.second));
        out.lines.push_back(fmt::format("    mig-enabled: {}", profiles.empty() ? "false" : "true"));
        out.lines.push_back(profiles.empty() ? "    mig-devices: {}" : "    mig-devices:");
        for (const auto& [profile, count] : profiles)
          out.lines.push_back(fmt::format("      {}: {}", json_quoted(profile), count));
      }
    }
    return out;
  }

  static Instruction device_plugin(const ShareGpus& c) {
    size_t most = 1;
    for (const auto& [gpu, placements] : by_gpu(c))
      most = std::max(most, placements.size());
    return {"Kubernetes, configuration `stint` of the NVIDIA device plugin",
            Syntax::kYaml,
            {"version: v1", "sharing:", c.mode == SharingMode::kMps ? "  mps:" : "  timeSlicing:", "    resources:",
             "    - name: nvidia.com/gpu", fmt::format("      replicas: {}", most)}};
  }
};

}  // namespace

std::vector<Instruction> kubernetes_instructions(const Change& change, const FleetPlan& fleet) {
  return std::visit(KubernetesWriter{fleet}, change);
}

}  // namespace stint
