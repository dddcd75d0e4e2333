// Work that shares GPUs, and work that leaves them: which jobs a change speaks of is known by where they ran.
#include <algorithm>

#include "base/counted.h"
#include "model/mig.h"
#include "sim/apply_change_parts.h"
#include "sim/fleet_text.h"

namespace stint::sim {
namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool says_where_jobs_ran(const Workload& w) {
  return std::ranges::any_of(w.jobs, [](const SimJob& job) { return !job.ran_on.empty(); });
}

Error not_known() {
  return invalid("the workload does not say which jobs ran on these nodes (column ran_on; a History with job records has it)");
}

/// Jobs of a History are called "name (id)".
bool is_called(const SimJob& job, const std::string& name) {
  return !name.empty() && (job.name == name || job.name.starts_with(name + " ("));
}

/// What becomes of a job that ran on one GPU of `node`: by its name where a placement names it, else the largest share that any
/// work of the node gets, so that sharing is not made to look better than it is.
const ShareGpus::Placement* placement_of(const ShareGpus& c, const SimJob& job, const std::string& node) {
  const ShareGpus::Placement* largest = nullptr;
  for (const ShareGpus::Placement& p : c.placements) {
    if (p.from_node != node) continue;
    if (is_called(job, p.workload)) return &p;
    if (largest == nullptr || p.parts > largest->parts) largest = &p;
  }
  return largest;
}

/// Whose the job is, where queues are clients' (workload_of makes them so): the top of its queue's path.
const std::string& client_of(const Workload& w, const SimJob& job) {
  sched::QueueId at = job.spec.queue;
  while (w.queues[at.index()].parent.valid())
    at = w.queues[at.index()].parent;
  return w.queues[at.index()].name;
}

/// As one who asks for a part, beside jobs of its client alone unless MIG keeps them apart; none = it keeps its whole GPU.
std::optional<sched::Request> shared_request(sched::Request request, const ShareGpus::Placement& p, SharingMode mode) {
  if (mode == SharingMode::kMig ? p.mig_profile.empty() : p.parts >= kWholeDevice) return std::nullopt;
  request.gpus = 0;
  if (mode == SharingMode::kMig) {
    request.mig = {{.profile = p.mig_profile, .count = 1}};
  } else {
    constexpr DeviceParts kMilliOfDevice = kWholeDevice / sched::kMilli;
    request.milli = static_cast<int32_t>(std::clamp<DeviceParts>((p.parts + kMilliOfDevice - 1) / kMilliOfDevice, 1, 999));
  }
  return request;
}

Status check_profiles(const Workload& w, const ShareGpus& c, const std::vector<uint32_t>& keep) {
  if (c.mode != SharingMode::kMig) return {};
  for (const uint32_t n : keep) {
    const std::string& model = w.nodes[n].node.gpu_model;
    const MigGeometry* geometry = find_mig_geometry(model);
    if (geometry == nullptr) return invalid("share: node '{}': no MIG layouts are known of '{}'", w.nodes[n].node.name, model);
    for (const ShareGpus::Placement& p : c.placements)
      if (!p.mig_profile.empty() &&
          std::ranges::none_of(geometry->profiles, [&](const auto& f) { return f.name == p.mig_profile; }))
        return invalid("share: {} has no MIG profile '{}'", model, p.mig_profile);
  }
  return {};
}

}  // namespace

Result<Notes> apply_share(Workload& w, const ShareGpus& c) {
  TRY_ASSIGN(const std::vector<uint32_t> nodes, find_nodes(w, c.nodes));
  TRY_ASSIGN(const std::vector<uint32_t> keep, find_nodes(w, c.keep));
  for (const std::string& name : c.keep)
    if (!is_among(c.nodes, name)) return invalid("share: '{}' is kept but not among the nodes of the change", name);
  TRY(check_profiles(w, c, keep));
  if (!says_where_jobs_ran(w)) return not_known();
  int64_t shared = 0;
  for (SimJob& job : w.jobs) {
    if (job.ran_on.size() != 1 || !is_among(c.nodes, job.ran_on[0])) continue;
    const sched::Request& request = w.requests[job.spec.request.index()];
    if (request.gpus != 1 || job.spec.tasks != 1 || job.spec.gang.valid()) continue;
    const ShareGpus::Placement* placement = placement_of(c, job, job.ran_on[0]);
    if (placement == nullptr) continue;
    if (auto smaller = shared_request(request, *placement, c.mode)) {
      if (c.mode != SharingMode::kMig) smaller->shares_with = client_of(w, job);
      job.spec.request = intern_request(w, *smaller);
      ++shared;
    }
  }
  if (shared == 0)
    return invalid(
        "no recorded job held one GPU of {}: what runs there is known by telemetry alone, which no replay can run again",
        c.nodes.size() == 1 ? c.nodes[0] : "these nodes");
  if (c.mode == SharingMode::kMig)
    for (const uint32_t n : keep)
      w.nodes[n].node.repartition = true;
  const std::vector<Presence> there = stand_in_for_all(w, nodes, keep.size());
  std::vector<std::string> gone;
  size_t k = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (is_among(c.keep, c.nodes[i]))
      set_presence(w, NodeId(nodes[i]), there[k++]);
    else
      gone.push_back(c.nodes[i]);
  }
  if (!gone.empty()) TRY(remove_nodes(w, gone, WhenEmpty::kError));
  return Notes{fmt::format("{} for a part of a GPU by {}; taken to run as fast as alone", counted(shared, "job asks", "jobs ask"),
                           name_of(c.mode))};
}

Result<Notes> apply_move_off(Workload& w, const MoveOffGpu& c, const ChangeSettings& settings) {
  if (c.to_instance_type.empty()) return invalid("move-off-gpu: the change names no CPU type");
  TRY_ASSIGN(const std::vector<uint32_t> nodes, find_nodes(w, c.nodes));
  if (!says_where_jobs_ran(w)) return not_known();
  std::vector<SimNode> fresh;
  for (const uint32_t n : nodes) {
    const SimNode& old = w.nodes[n];
    TRY_ASSIGN(SimNode node, rented_node(c.to_instance_type, old.region, Market::kOnDemand, *settings.catalog));
    if (node.node.gpus != 0) return invalid("move-off-gpu: {} has GPUs", c.to_instance_type);
    node.node.name = old.node.name;
    node.present_from = old.present_from;
    node.present_until = old.present_until;
    fresh.push_back(std::move(node));
  }
  int64_t moved = 0;
  for (SimJob& job : w.jobs) {
    if (job.ran_on.empty() || std::ranges::any_of(job.ran_on, [&](const auto& name) { return !is_among(c.nodes, name); }))
      continue;
    const auto at = static_cast<size_t>(std::ranges::find(c.nodes, job.ran_on[0]) - c.nodes.begin());
    const SimNode& old = w.nodes[nodes[at]];
    const int64_t per_task = std::max<int64_t>(1, gpu_milli_of(w, job) / job.spec.tasks);
    const int64_t of_node = std::max<int64_t>(per_task, int64_t{old.node.gpus} * sched::kMilli);
    // As much of the new machine as it held of the old: the type is chosen so that the work of one fits on the other.
    sched::Request request;
    request.cpu_milli = fresh[at].node.cpu_milli * per_task / of_node;
    request.only_allowed_nodes = true;
    request.allowed_nodes = c.nodes;
    job.spec.request = intern_request(w, request);
    job.spec.gang = sched::GangId();
    job.ran_on.clear();
    ++moved;
  }
  TRY(remove_nodes(w, c.nodes, WhenEmpty::kAllowed));
  std::ranges::move(fresh, std::back_inserter(w.nodes));
  return Notes{fmt::format("{} on {} × {} as fast as before, each on as much of a machine as it held",
                           counted(moved, "job runs", "jobs run"), c.nodes.size(), c.to_instance_type)};
}

}  // namespace stint::sim
