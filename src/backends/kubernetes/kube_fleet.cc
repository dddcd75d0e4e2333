#include "backends/kubernetes/kube_fleet.h"

#include <algorithm>

#include "backends/kubernetes/kube_marks.h"
#include "catalog/catalog.h"
#include "codec/kubernetes/kubernetes_gpus.h"
#include "model/mig_ask.h"

namespace stint {
namespace {

constexpr std::string_view kGpus = "nvidia.com/gpu";
constexpr int64_t kMostGpus = 64;  // of one machine, as the scheduler counts them

/// Its GPUs are cut, and stay so.
void read_devices(const KubeHeld& room, const KubernetesGpus& gpus, NodeSpec& spec) {
  constexpr int64_t kMostDevices = 1 << 16;
  constexpr int64_t kWhole = 1000;
  spec.whole_gpus = false;
  for (const auto& [resource, devices] : room.others)
    if (const std::string_view profile = mig_profile_of_resource(resource); !profile.empty())
      spec.static_mig.push_back(
          {.profile = std::string(profile), .count = static_cast<int32_t>(std::min(devices, kMostDevices))});
  const int64_t counted = gpus.count > 0 ? gpus.count : (compute_milli(spec.gpu_model, spec.static_mig) + kWhole - 1) / kWhole;
  spec.gpus = static_cast<int32_t>(std::clamp<int64_t>(counted, 1, kMostGpus));
}

/// "cloud.google.com/impending-node-termination": its owner takes it back.
bool is_taken_back(const KubePlacingNode& node) {
  return std::ranges::any_of(node.taints, [](const KubeTaint& taint) {
    return taint.key == "aws-node-termination-handler/spot-itn" || taint.key == "cloud.google.com/impending-node-termination";
  });
}

/// When somebody says that it will be gone. A time that cannot be read keeps work off it all the same.
void read_notice(const KubePlacingNode& node, MachineReport& report) {
  const std::string_view said = node.annotation(kKubeGoneAt);
  if (said.empty()) return;
  if (report.cause != MachineCause::kBroken)
    report.cause = is_taken_back(node) ? MachineCause::kSpot : MachineCause::kMaintenance;
  if (const Result<Instant> at = parse_instant(said); at.ok())
    report.until = *at;
  else
    report.detail = fmt::format("annotation {}: {}", kKubeGoneAt, at.error().message);
  if (report.detail.empty()) report.detail = fmt::format("annotation {}", kKubeGoneAt);
}

/// Does it take work? A broken GPU is told before a cordon, which may be there because of it.
void read_standing(const KubePlacingNode& node, const KubeHeld& room, std::string_view mark, MachineReport& report) {
  const NodeSpec& spec = report.machine.node;
  report.detail = why_no_work(node);
  if (report.detail == "cordoned" && !mark.empty() && is_cordoned_by(node, mark)) {
    KubePlacingNode otherwise = node;
    otherwise.node.unschedulable = false;
    std::erase_if(otherwise.taints, [](const KubeTaint& taint) { return taint.key == "node.kubernetes.io/unschedulable"; });
    report.detail = why_no_work(otherwise);
  }
  const bool is_cordoned = report.detail == "cordoned";
  if (is_cordoned) {
    report.cause = MachineCause::kMaintenance;
    if (std::string why = why_cordoned(node); !why.empty()) report.detail = std::move(why);
  }
  if ((report.detail.empty() || is_cordoned) && spec.whole_gpus && room.gpus < spec.gpus) {
    report.detail = fmt::format("offers {} of its {} GPUs", room.gpus, spec.gpus);
    report.cause = MachineCause::kBroken;
  }
  if (report.cause == MachineCause::kOther && is_taken_back(node)) report.cause = MachineCause::kSpot;
  read_notice(node, report);
  if (!report.detail.empty()) report.news = MachineNews::kDraining;
}

}  // namespace

/// The number of GPUs is what the machine has, also while its device plugin offers fewer: what holds them stays where it is.
MachineReport KubeFleet::report_of(const KubePlacingNode& node, const KubeHeld& held, int64_t claimable,
                                   std::string_view mark) const {
  MachineReport report{.news = MachineNews::kThere, .machine = {}, .detail = ""};
  const std::string& name = node.node.meta.name;
  const KubernetesGpus gpus = gpus_of(node.node);
  KubeHeld room = room_of(node);
  room.gpus += claimable;
  Node place;
  read_place(node.node, place);
  Machine& machine = report.machine;
  if (const auto configured = configured_.find(name); configured != configured_.end()) machine = configured->second;
  if (machine.provider.empty()) machine.provider = place.provider;
  if (machine.region.empty()) machine.region = place.region;
  if (machine.zone.empty()) machine.zone = place.zone;
  if (machine.instance_type.empty()) machine.instance_type = place.instance_type;
  NodeSpec& spec = machine.node;
  const auto capacity = node.node.capacity.find(kGpus);
  const int64_t whole = capacity == node.node.capacity.end() ? 0 : capacity->second / 1000;
  const GpuFacts* facts = Catalog::built_in().find_gpu(gpus.model, gpus.memory);
  spec.name = name;
  spec.gpu_model = facts != nullptr ? facts->model : gpus.model;
  spec.gpus = static_cast<int32_t>(std::min(kMostGpus, std::max({whole, room.gpus, held.gpus})));
  spec.gpu_memory = gpus.memory;
  spec.cpu_milli = room.cpu_milli;
  spec.memory = Bytes::of(room.memory);
  spec.max_tasks = static_cast<int32_t>(std::clamp<int64_t>(room.pods, 0, 1 << 20));
  spec.shared_gpus = false;
  if (node.mig_devices) read_devices(room, gpus, spec);
  read_standing(node, room, mark, report);
  return report;
}

std::vector<MachineReport> KubeFleet::look(const KubeCluster& cluster, std::string_view mark) {
  const auto held = cluster.held();
  std::map<std::string, MachineReport, std::less<>> found;
  for (const auto& [name, node] : cluster.nodes) {
    const auto on_it = held.find(name);
    const auto before = reports_.find(name);
    const bool used = on_it != held.end() && on_it->second.pods > 0;
    // One that is used stays a machine, whatever its device plugin says of it meanwhile.
    if (!cluster.is_machine(node) && (before == reports_.end() || !used)) continue;
    MachineReport report = report_of(node, used ? on_it->second : KubeHeld(), cluster.claimable_gpus(node), mark);
    if (before != reports_.end() && used) report.machine = before->second.machine;
    found.emplace(name, std::move(report));
  }
  std::vector<MachineReport> news;
  for (const auto& [name, report] : reports_)
    if (!found.contains(name))
      news.push_back({.news = MachineNews::kGone, .machine = report.machine, .detail = "the cluster no longer has it"});
  for (const auto& [name, report] : found) {
    const auto before = reports_.find(name);
    const bool is_new = before == reports_.end();
    if (!is_new && before->second.news == report.news && before->second.machine == report.machine &&
        before->second.detail == report.detail && before->second.cause == report.cause && before->second.until == report.until)
      continue;
    // What takes no work has to be known first.
    if (is_new && report.news != MachineNews::kThere)
      news.push_back({.news = MachineNews::kThere, .machine = report.machine, .detail = ""});
    news.push_back(report);
  }
  reports_ = std::move(found);
  return news;
}

std::vector<MachineReport> KubeFleet::machines() const {
  std::vector<MachineReport> all;
  for (const auto& [name, report] : reports_)
    all.push_back(report);
  return all;
}

}  // namespace stint
