#include "advise/prove/proof_workload.h"

#include <algorithm>
#include <set>

#include "advise/thresholds.h"
#include "base/counted.h"
#include "sim/history_workload.h"

namespace stint {
namespace {

constexpr uint16_t kThereSeconds = 1800;  // of an hour: less is on the way in or out

/// Work of this kind does not answer requests: when it ran says what had to be done.
bool runs_by_itself(WorkloadKind kind) { return kind != WorkloadKind::kUnknown && kind != WorkloadKind::kRealtimeInference; }

class Builder {
 public:
  Builder(const History& history, const FleetFacts& facts) : history_(history), facts_(facts) {
    for (const NodeFacts& node : facts.nodes)
      by_name_[node.name] = &node;
  }

  Result<ProofWorkload> build() {
    const auto price_of = [&](const Node&) -> std::optional<Rate> { return std::nullopt; };
    TRY_ASSIGN(sim::HistoryWorkload made, sim::workload_of(history_, price_of, sim::WithoutJobs::kMachinesAlone));
    out_.workload = std::move(made.workload);
    out_.workload.outages.clear();  // timelines tell when machines were there
    out_.recorded_jobs = static_cast<int64_t>(out_.workload.jobs.size());
    for (const sim::SimJob& job : out_.workload.jobs)
      with_records_.insert(job.ran_on.begin(), job.ran_on.end());
    keep_replayable_nodes();
    keep_jobs_in_their_cluster();
    for (size_t n = 0; n < out_.workload.nodes.size(); ++n)
      set_up(n);
    if (out_.workload.jobs.empty())
      return invalid("no job record, and no telemetry of work that is no service: import job records with `stint import sacct`");
    std::stable_sort(out_.workload.jobs.begin(), out_.workload.jobs.end(),
                     [](const sim::SimJob& a, const sim::SimJob& b) { return a.spec.submitted < b.spec.submitted; });
    TRY(sim::check_workload(out_.workload));
    add_notes(made.left_out);
    return std::move(out_);
  }

 private:
  void keep_replayable_nodes() {
    std::erase_if(out_.workload.nodes, [&](const sim::SimNode& node) {
      std::string why = why_not(node.node.name);
      if (why.empty()) return false;
      out_.left_out[node.node.name] = std::move(why);
      out_.left_out_nodes.push_back(node);
      return true;
    });
  }

  /// Empty when what ran there can be run again.
  std::string why_not(const std::string& name) const {
    if (with_records_.contains(name)) return {};
    const auto known = by_name_.find(name);
    if (known == by_name_.end() || known->second->quality == TelemetryQuality::kNone)
      return "neither a job record nor telemetry shows work there";
    const NodeFacts& node = *known->second;
    if (node.kind == WorkloadKind::kRealtimeInference) return "a service known by telemetry alone";
    if (!runs_by_itself(node.kind)) return "known by telemetry alone, and the kind of work is not known";
    const bool active = std::ranges::any_of(node.timeline, [](const NodeHour& h) { return h.active_gpus > 0; });
    return active ? "" : "no work was seen there: nothing waits for it";
  }

  static std::string cluster_of(const sim::SimNode& node) { return node.provider + "/" + node.region; }

  void keep_jobs_in_their_cluster() {
    std::map<std::string, std::string> cluster_of_node;
    std::set<std::string> clusters;
    for (sim::SimNode& node : out_.workload.nodes) {
      if (!with_records_.contains(node.node.name)) continue;
      cluster_of_node[node.node.name] = cluster_of(node);
      clusters.insert(cluster_of(node));
      node.node.labels.push_back({.key = "stint/cluster", .value = cluster_of(node)});
    }
    std::map<std::pair<uint32_t, std::string>, sched::RequestId> known;
    for (sim::SimJob& job : out_.workload.jobs) {
      const auto at = job.ran_on.empty() ? cluster_of_node.end() : cluster_of_node.find(job.ran_on.front());
      const std::string cluster = at != cluster_of_node.end() ? at->second : clusters.empty() ? "" : *clusters.begin();
      const uint32_t plain = job.spec.request.index();
      const auto [it, is_new] = known.emplace(std::pair(plain, cluster), sched::RequestId());
      if (is_new) {
        sched::Request request = out_.workload.requests[plain];
        request.node_labels.push_back({.key = "stint/cluster", .value = cluster});
        it->second = sched::RequestId(static_cast<uint32_t>(out_.workload.requests.size()));
        out_.workload.requests.push_back(std::move(request));
      }
      job.spec.request = it->second;
    }
  }

  /// Price, hours, and the work that telemetry alone shows.
  void set_up(size_t n) {
    sim::SimNode& node = out_.workload.nodes[n];
    node.present_from = Instant();
    node.present_until = sched::kNever;
    const auto known = by_name_.find(node.node.name);
    if (known == by_name_.end()) return;
    const NodeFacts& facts = *known->second;
    const std::optional<Money> hourly = facts.hourly();
    node.market = facts.market;  // the bill's, where it says another than the inventory
    node.rate = Rate::per_hour(hourly ? *hourly : Money::nanos(0, facts_.currency));
    if (!hourly) ++without_price_;
    add_hours_away(NodeId(static_cast<uint32_t>(n)), facts);
    if (!with_records_.contains(facts.name)) add_stretches(facts);
  }

  /// Out of the period an hour is like the one a week before it.
  bool is_there(const NodeFacts& node, size_t hour) const {
    while (hour >= node.timeline.size() && hour >= kWeek)
      hour -= kWeek;
    return hour >= node.timeline.size() || node.timeline[hour].on_s >= kThereSeconds;
  }

  Instant hour_begins(size_t hour) const { return Instant::from_hour_index(facts_.first_hour + static_cast<int64_t>(hour)); }

  void add_hours_away(NodeId id, const NodeFacts& node) {
    const size_t end = node.timeline.size() + static_cast<size_t>(kProofPatience.count_ns() / kHour.count_ns());
    for (size_t h = 0; h < end; ++h) {
      if (is_there(node, h)) continue;
      const size_t begin = h;
      while (h < end && !is_there(node, h))
        ++h;
      out_.workload.outages.push_back({.node = id,
                                       .cause = sim::OutageCause::kMaintenance,
                                       .notice = hour_begins(begin),
                                       .down = hour_begins(begin),
                                       .up = hour_begins(h)});
    }
  }

  void add_stretches(const NodeFacts& node) {
    int64_t number = 0;
    for (size_t h = 0; h < node.timeline.size(); ++h) {
      if (node.timeline[h].active_gpus == 0) continue;
      const size_t begin = h;
      int32_t gpus = 0;
      Duration length;
      for (; h < node.timeline.size() && node.timeline[h].active_gpus > 0; ++h) {
        gpus = std::max<int32_t>(gpus, node.timeline[h].active_gpus);
        length = length + Duration::seconds(std::max<int64_t>(node.timeline[h].on_s, 1));
      }
      ++number;
      sim::SimJob job;
      job.name = fmt::format("work seen on {}, {}", node.name, number);
      job.run_time = length;
      job.ran_on = {node.name};
      job.spec.submitted = hour_begins(begin);
      job.spec.queue = queue_of(node.client);
      job.spec.preemptible = !is_interactive(node.kind);
      if (node.checkpointable == true)
        job.spec.checkpoint = sim::recorded_checkpoints();
      else
        job.spec.checkpoint.restart = sim::recorded_checkpoints().restart;
      job.run_time = sim::work_within(job.run_time, job.spec.checkpoint);
      sched::Request request;
      request.gpus = std::min(gpus, static_cast<int32_t>(node.gpu_count));
      request.only_allowed_nodes = true;
      request.allowed_nodes = {node.name};
      job.spec.request = request_of(request);
      out_.workload.jobs.push_back(std::move(job));
      ++out_.seen_stretches;
    }
  }

  sched::RequestId request_of(const sched::Request& request) {
    auto& known = out_.workload.requests;
    // The last ones are of the same machine.
    for (size_t i = known.size(); i > 0 && i + static_cast<size_t>(sched::kMaxGpusPerNode) > known.size(); --i)
      if (known[i - 1] == request) return sched::RequestId(static_cast<uint32_t>(i - 1));
    known.push_back(request);
    return sched::RequestId(static_cast<uint32_t>(known.size() - 1));
  }

  sched::QueueId queue_of(const std::string& client) {
    auto& queues = out_.workload.queues;
    const std::string name = client.empty() ? "no client" : client;
    const auto it = std::ranges::find(queues, name, &sched::QueueSpec::name);
    if (it != queues.end()) return sched::QueueId(static_cast<uint32_t>(it - queues.begin()));
    queues.emplace_back().name = name;
    queues.back().created = static_cast<int32_t>(queues.size() - 1);
    return sched::QueueId(static_cast<uint32_t>(queues.size() - 1));
  }

  void add_notes(const std::map<std::string, int64_t>& left_out) {
    for (const auto& [reason, count] : left_out)
      out_.notes.push_back(fmt::format("left out: {} {}", count, reason));
    std::map<std::string, int64_t> reasons;
    for (const auto& [node, why] : out_.left_out)
      ++reasons[why];
    for (const auto& [why, count] : reasons)
      out_.notes.push_back(fmt::format("not in the replay: {}: {}", counted(count, "machine"), why));
    if (out_.seen_stretches > 0)
      out_.notes.push_back(counted(out_.seen_stretches,
                                   "stretch of active hours of machines without job records is run again as a job",
                                   "stretches of active hours of machines without job records are run again as jobs"));
    if (without_price_ > 0)
      out_.notes.push_back(counted(without_price_, "machine has no known price and counts as free",
                                   "machines have no known price and count as free"));
  }

  const History& history_;
  const FleetFacts& facts_;
  std::map<std::string, const NodeFacts*> by_name_;
  std::set<std::string> with_records_;
  ProofWorkload out_;
  int64_t without_price_ = 0;
};

}  // namespace

Result<ProofWorkload> proof_workload(const History& history, const FleetFacts& facts) { return Builder(history, facts).build(); }

}  // namespace stint
