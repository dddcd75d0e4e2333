#include "advise/find/cluster_audit.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "advise/find/resize_fit.h"
#include "advise/find/run_use.h"
#include "advise/node_facts.h"
#include "advise/share/share_fit.h"
#include "model/mig.h"

namespace stint {
namespace {

// What is worth naming.
constexpr double kIdleShare = 0.5;                     // of what was watched of a hold
constexpr double kWatchedShare = 0.5;                  // of a hold, before anything is said of it
constexpr double kLimitShare = 0.5;                    // enough, of the limit
constexpr double kLimitMargin = 1.25;                  // above the longest run
constexpr Duration kLimitStep = Duration::minutes(5);  // limits are asked for in these
constexpr Duration kWaitNamed = Duration::minutes(1);  // before another partition is named
constexpr int64_t kMostShards = 8;

struct Measured {
  const Run* run = nullptr;
  const RunUse* use = nullptr;
  const QueueRecord* queue = nullptr;
  std::optional<Money> cost;
  [[nodiscard]] bool watched() const { return use->watched_hours > 0 && use->watched_hours >= kWatchedShare * use->held_hours; }
};

class Auditing {
 public:
  Auditing(const History& history, const QueueHistory& queue, const Usage& usage, const FleetFacts& facts, const Catalog& catalog)
      : history_(history), queue_(queue), facts_(facts), catalog_(catalog), uses_(use_of_runs(history, usage)) {
    for (uint32_t n = 0; n < history.nodes.size(); ++n)
      node_ids_.emplace(history.nodes[n].name, n);
    for (const PartitionNode& entry : partitions_of(history, queue))
      if (const auto node = node_ids_.find(entry.node); node != node_ids_.end())
        partitions_[entry.partition].push_back(node->second);
    std::map<std::pair<std::string_view, int>, const QueueRecord*> records;
    for (const QueueRecord& record : queue.records)
      records.emplace(std::pair(std::string_view(record.run_id), record.restart), &record);
    for (size_t r = 0; r < history.runs.size(); ++r) {
      const Run& run = history.runs[r];
      const auto record = records.find({run.id, run.restart});
      if (record != records.end()) runs_.push_back({&run, &uses_[r], record->second, cost_of(run, uses_[r])});
    }
  }

  ClusterAudit run() {
    ClusterAudit out;
    const std::vector<RunWait> waits = waits_of_runs(history_, queue_, last_told());
    out.accounts = use_by(waits, false);
    out.users = use_by(waits, true);
    out.idle = idle_holds();
    out.limits = long_limits();
    out.small = small_work();
    out.misplaced = misplaced(waits);
    out.waits = causes(waits);
    return out;
  }

 private:
  /// The last thing that any run did: the period goes on to the end of its hour, of which nothing is known yet.
  [[nodiscard]] Instant last_told() const {
    Instant last = history_.period.begin;
    for (const Run& run : history_.runs)
      for (const std::optional<Instant>& at : {std::optional(run.submitted), run.started, run.ended})
        if (at) last = std::max(last, *at);
    return std::min(last, history_.period.end);
  }

  [[nodiscard]] std::optional<Money> rate_of(uint32_t node) const {
    const NodeFacts& facts = facts_.nodes[node];
    const auto hourly = facts.hourly();
    if (!hourly || facts.gpu_count <= 0) return std::nullopt;
    return scale(*hourly, 1, facts.gpu_count);  // of one GPU
  }

  /// Its part of its machines' price.
  [[nodiscard]] std::optional<Money> cost_of(const Run& run, const RunUse& use) const {
    if (run.allocations.empty() || use.held_hours <= 0) return std::nullopt;
    double per_hour = 0;
    double gpus = 0;
    for (const RunAllocation& allocation : run.allocations) {
      const auto node = node_ids_.find(allocation.node);
      const auto rate = node == node_ids_.end() ? std::nullopt : rate_of(node->second);
      if (!rate) return std::nullopt;
      const auto count = static_cast<double>(std::max(allocation.gpu_count, static_cast<int64_t>(allocation.gpu_indexes.size())));
      per_hour += rate->to_double() * count;
      gpus += count;
    }
    return gpus > 0 ? std::optional(Money::estimate(per_hour / gpus * use.held_hours, facts_.currency)) : std::nullopt;
  }

  static void add(std::optional<Money>& sum, const std::optional<Money>& amount) {
    if (amount) sum = sum ? *sum + *amount : *amount;
  }

  std::vector<ClusterUse> use_by(const std::vector<RunWait>& waits, bool by_user) const {
    std::map<std::pair<std::string, std::string>, ClusterUse> rows;
    const auto row_of = [&](const Run& run) -> ClusterUse& {
      ClusterUse& row = rows[{run.holder.account, by_user ? run.holder.user : ""}];
      row.account = run.holder.account;
      if (by_user) row.user = run.holder.user;
      return row;
    };
    for (const Measured& m : runs_) {
      ClusterUse& row = row_of(*m.run);
      ++row.runs;
      row.gpu_hours += m.use->held_hours;
      row.watched_gpu_hours += m.use->watched_hours;
      row.used_gpu_hours += m.use->used_hours;
      row.idle_gpu_hours += m.use->idle_hours;
      add(row.cost, m.cost);
    }
    for (const RunWait& wait : waits) {
      ClusterUse& row = row_of(history_.runs[wait.run]);
      row.mean_wait = row.mean_wait + wait.total();
    }
    std::vector<ClusterUse> out;
    for (auto& [key, row] : rows) {
      row.mean_wait = Duration::nanoseconds(row.mean_wait.count_ns() / std::max<int64_t>(1, row.runs));
      out.push_back(std::move(row));
    }
    std::ranges::stable_sort(out, std::ranges::greater(), &ClusterUse::gpu_hours);
    return out;
  }

  std::vector<IdleHold> idle_holds() const {
    std::vector<IdleHold> out;
    for (const Measured& m : runs_) {
      if (!m.watched()) continue;
      const double idle = m.use->idle_hours / m.use->watched_hours;
      if (idle < kIdleShare && m.use->gpus_idle == 0) continue;
      IdleHold hold{.run = m.run->id,
                    .account = m.run->holder.account,
                    .user = m.run->holder.user,
                    .gpus = m.use->gpus_watched,
                    .gpus_idle = m.use->gpus_idle,
                    .gpu_hours = m.use->held_hours,
                    .idle_gpu_hours = m.use->idle_hours,
                    .idle_cost = {}};
      if (m.cost)
        hold.idle_cost = Money::estimate(m.cost->to_double() * m.use->idle_hours / m.use->held_hours, m.cost->currency());
      out.push_back(std::move(hold));
    }
    std::ranges::stable_sort(out, std::ranges::greater(), &IdleHold::idle_gpu_hours);
    return out;
  }

  std::vector<LongLimit> long_limits() const {
    std::map<std::tuple<std::string, std::string, std::string>, LongLimit> groups;
    for (const Measured& m : runs_) {
      const Run& run = *m.run;
      if (run.state != RunState::kCompleted || !run.time_limit || !run.started || !run.ended) continue;
      const Duration took = *run.ended - *run.started;
      LongLimit& group = groups[{run.holder.account, run.holder.user, run.name}];
      if (group.runs++ == 0)
        group = {.account = run.holder.account,
                 .user = run.holder.user,
                 .name = run.name,
                 .runs = 1,
                 .limit = *run.time_limit,
                 .longest = took,
                 .enough = {}};
      group.limit = std::min(group.limit, *run.time_limit);
      group.longest = std::max(group.longest, took);
      if (*run.time_limit > took)
        group.gpu_hours_unneeded += (*run.time_limit - took).to_hours() * static_cast<double>(run.gpus_requested);
    }
    std::vector<LongLimit> out;
    for (auto& [key, group] : groups) {
      const auto wanted = Duration::from_seconds(group.longest.to_seconds() * kLimitMargin);
      group.enough = kLimitStep * ((wanted.count_ns() + kLimitStep.count_ns() - 1) / kLimitStep.count_ns());
      if (group.enough.to_seconds() <= kLimitShare * group.limit.to_seconds()) out.push_back(std::move(group));
    }
    std::ranges::stable_sort(out, std::ranges::greater(), &LongLimit::gpu_hours_unneeded);
    return out;
  }

  /// The part of its GPU that would carry a run; empty: it needs it whole, or it is not known.
  [[nodiscard]] std::string smaller_part(const Measured& m) const {
    if (!m.watched() || !m.use->memory_peak || m.run->gpus_requested != 1 || m.run->share) return "";
    const NodeFacts no_facts;
    GpuLoad load;
    load.busy_p95_pct = m.use->busiest_pct;
    load.memory_p95 = load.memory_peak = m.use->memory_peak;
    if (const MigGeometry* geometry = find_mig_geometry(m.use->gpu_model)) {
      const auto profile = share_profile(*geometry, {.node = &no_facts, .gpu = &load}, ShareRule::kFit);
      return profile ? "MIG " + geometry->profiles[static_cast<size_t>(*profile)].name : "";
    }
    const GpuFacts* gpu = catalog_.find_gpu(m.use->gpu_model);
    if (gpu == nullptr || gpu->memory == Bytes()) return "";
    const double memory = static_cast<double>(m.use->memory_peak->count()) * kShareMemoryMargin;
    const double compute = std::max(m.use->busiest_pct / 100 / kSharedComputeLimit, 1.0 / kMostShards);
    const double parts = std::min(static_cast<double>(gpu->memory.count()) / std::max(memory, 1.0), 1 / compute);
    const auto shards = std::min(kMostShards, static_cast<int64_t>(parts));
    return shards < 2 ? "" : fmt::format("1/{} of a GPU (shard)", shards);
  }

  std::vector<SmallWork> small_work() const {
    std::map<std::tuple<std::string, std::string, std::string, std::string, std::string>, SmallWork> groups;
    for (const Measured& m : runs_) {
      const std::string fits = smaller_part(m);
      if (fits.empty()) continue;
      const Holder& holder = m.run->holder;
      SmallWork& group = groups[{holder.account, holder.user, m.run->name, m.use->gpu_model, fits}];
      group.account = holder.account;
      group.user = holder.user;
      group.name = m.run->name;
      group.gpu_model = m.use->gpu_model;
      group.fits = fits;
      ++group.runs;
      group.gpu_hours += m.use->held_hours;
      group.memory_peak = std::max(group.memory_peak, *m.use->memory_peak);
      group.busiest_pct = std::max(group.busiest_pct, m.use->busiest_pct);
    }
    std::vector<SmallWork> out;
    for (auto& [key, group] : groups)
      out.push_back(std::move(group));
    std::ranges::stable_sort(out, std::ranges::greater(), &SmallWork::gpu_hours);
    return out;
  }

  /// What one GPU of a partition costs an hour, and which it is; none: it has several, none, or no price.
  struct PartitionGpu {
    const GpuFacts* gpu = nullptr;
    Money per_hour;
  };
  [[nodiscard]] std::optional<PartitionGpu> gpu_of(const std::string& partition) const {
    std::optional<PartitionGpu> out;
    const auto nodes = partitions_.find(partition);
    if (nodes == partitions_.end()) return out;
    for (const uint32_t n : nodes->second) {
      const GpuFacts* gpu = catalog_.find_gpu(history_.nodes[n].gpu_model);
      const auto rate = rate_of(n);
      if (gpu == nullptr || !rate || (out && out->gpu != gpu)) return std::nullopt;
      if (!out || *rate > out->per_hour) out = {gpu, *rate};
    }
    return out;
  }

  [[nodiscard]] bool has_gpus(const std::string& partition) const {
    const auto nodes = partitions_.find(partition);
    return nodes != partitions_.end() &&
           std::ranges::any_of(nodes->second, [&](uint32_t n) { return history_.nodes[n].gpu_count > 0; });
  }
  [[nodiscard]] std::string partition_without_gpus() const {
    for (const auto& [name, nodes] : partitions_)
      if (!nodes.empty() && !has_gpus(name)) return name;
    return "";
  }

  /// The cheapest partition whose GPUs carry it at the pace it has; it saves that much.
  [[nodiscard]] std::optional<std::pair<std::string, Money>> cheaper_for(const Measured& m) const {
    if (!m.watched() || !m.use->memory_peak || m.run->share) return std::nullopt;
    const auto own = gpu_of(m.queue->partition);
    if (!own || !m.cost) return std::nullopt;
    const double memory = static_cast<double>(m.use->memory_peak->count()) * kResizeMemoryMargin;
    std::optional<std::pair<std::string, Money>> best;
    for (const auto& [name, nodes] : partitions_) {
      const auto other = gpu_of(name);
      if (!other || other->gpu == own->gpu || other->per_hour >= own->per_hour) continue;
      const auto speed = relative_throughput(*other->gpu, *own->gpu);
      if (!speed || static_cast<double>(other->gpu->memory.count()) < memory) continue;
      if (m.use->busiest_pct / 100 > kResizeHeadroom * speed->low) continue;
      const Money saving = *m.cost - Money::estimate(other->per_hour.to_double() * m.use->held_hours, facts_.currency);
      if (saving.count_nanos() > 0 && (!best || saving > best->second)) best = {name, saving};
    }
    return best;
  }

  std::vector<Misplaced> misplaced(const std::vector<RunWait>& waits) const {
    std::map<std::tuple<Misplaced::Why, std::string, std::string, std::string, std::string>, Misplaced> groups;
    const auto group_of = [&](const Run& run, const QueueRecord& queue, Misplaced::Why why,
                              const std::string& better) -> Misplaced& {
      Misplaced& group = groups[{why, run.holder.account, run.holder.user, queue.partition, better}];
      group.account = run.holder.account;
      group.user = run.holder.user;
      group.partition = queue.partition;
      group.better = better;
      group.why = why;
      ++group.runs;
      return group;
    };
    const std::string plain = partition_without_gpus();
    std::map<const Run*, const Measured*> measured;
    for (const Measured& m : runs_) {
      measured[m.run] = &m;
      if (m.run->started && m.run->gpus_requested == 0 && !plain.empty() && has_gpus(m.queue->partition))
        group_of(*m.run, *m.queue, Misplaced::Why::kNoGpuAsked, plain);
      if (const auto cheaper = cheaper_for(m)) {
        Misplaced& group = group_of(*m.run, *m.queue, Misplaced::Why::kCheaperGpu, cheaper->first);
        group.gpu_hours += m.use->held_hours;
        add(group.saving, cheaper->second);
      }
    }
    for (const RunWait& wait : waits) {
      const auto m = measured.find(&history_.runs[wait.run]);
      if (m == measured.end() || wait.elsewhere.empty() || wait.total() < kWaitNamed) continue;
      Misplaced& group = group_of(*m->second->run, *m->second->queue, Misplaced::Why::kRoomAtOnce, wait.elsewhere);
      group.gpu_hours += m->second->use->held_hours;
      group.waited = group.waited + wait.total();
    }
    std::vector<Misplaced> out;
    for (auto& [key, group] : groups)
      out.push_back(std::move(group));
    std::ranges::stable_sort(out, std::ranges::greater(), &Misplaced::gpu_hours);
    return out;
  }

  std::vector<WaitCause> causes(const std::vector<RunWait>& waits) const {
    std::map<std::pair<WaitKind, std::string>, WaitCause> rows;
    for (const RunWait& wait : waits)
      for (size_t k = 0; k < kWaitKinds; ++k) {
        if (wait.by[k] <= Duration()) continue;
        const auto kind = static_cast<WaitKind>(k);
        const bool told = kind == WaitKind::kNotEligible || kind == WaitKind::kLimit;
        WaitCause& row = rows[{kind, told ? wait.reason : ""}];
        row.kind = kind;
        if (told) row.reason = wait.reason;
        ++row.runs;
        row.waited = row.waited + wait.by[k];
        row.longest = std::max(row.longest, wait.by[k]);
        row.gpu_hours_waited += wait.by[k].to_hours() * static_cast<double>(history_.runs[wait.run].gpus_requested);
      }
    std::vector<WaitCause> out;
    for (auto& [key, row] : rows)
      out.push_back(std::move(row));
    std::ranges::stable_sort(out, std::ranges::greater(), &WaitCause::waited);
    return out;
  }

  const History& history_;
  const QueueHistory& queue_;
  const FleetFacts& facts_;
  const Catalog& catalog_;
  const std::vector<RunUse> uses_;
  std::map<std::string_view, uint32_t> node_ids_;
  std::map<std::string, std::vector<uint32_t>> partitions_;
  std::vector<Measured> runs_;
};

}  // namespace

std::string_view name_of(Misplaced::Why why) {
  switch (why) {
    case Misplaced::Why::kNoGpuAsked: return "no-gpu-asked";
    case Misplaced::Why::kCheaperGpu: return "cheaper-gpu";
    case Misplaced::Why::kRoomAtOnce: return "room-at-once";
  }
  return "";
}

std::string_view name_of(WaitKind kind) {
  switch (kind) {
    case WaitKind::kNotEligible: return "not-eligible";
    case WaitKind::kLimit: return "limit";
    case WaitKind::kNoGpus: return "no-gpus";
    case WaitKind::kFragmented: return "fragmented";
    case WaitKind::kRank: return "rank";
  }
  return "";
}

std::optional<ClusterAudit> audit_cluster(const History& history, const QueueHistory& queue, const Usage& usage,
                                          const FleetFacts& facts, const Catalog& catalog) {
  if (queue.records.empty()) return std::nullopt;
  return Auditing(history, queue, usage, facts, catalog).run();
}

}  // namespace stint
