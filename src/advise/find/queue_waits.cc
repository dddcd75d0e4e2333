#include "advise/find/queue_waits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "base/check.h"

namespace stint {
namespace {

using RunKey = std::pair<std::string_view, int>;

std::map<RunKey, const QueueRecord*> by_run(const QueueHistory& queue) {
  std::map<RunKey, const QueueRecord*> out;
  for (const QueueRecord& record : queue.records)
    out.emplace(RunKey(record.run_id, record.restart), &record);
  return out;
}

/// GPUs that are free on the machines of one partition, counted by how many a machine has.
struct Partition {
  std::vector<int64_t> machines_with;  ///< by free GPUs
  int64_t free = 0;
  std::string gpu_model;
  bool one_model = true;

  void change(int64_t from, int64_t to) {
    const auto most = static_cast<size_t>(std::max(from, to)) + 1;
    if (machines_with.size() < most) machines_with.resize(most);
    if (from >= 0) --machines_with[static_cast<size_t>(from)];
    ++machines_with[static_cast<size_t>(to)];
    free += to - std::max<int64_t>(from, 0);
  }
  [[nodiscard]] bool fits(int64_t machines, int64_t gpus_each) const {
    int64_t enough = 0;
    for (size_t f = static_cast<size_t>(gpus_each); f < machines_with.size(); ++f)
      enough += machines_with[f];
    return enough >= machines;
  }
};

/// What runs ask for; all of one shape are told the same.
struct Shape {
  size_t partition = 0;
  int64_t machines = 1, gpus_each = 0;
  auto operator<=>(const Shape&) const = default;
};
struct ShapeTime {
  size_t waiting = 0;
  std::array<Duration, kWaitKinds> by = {};
};

enum class Happens : uint8_t { kEnd, kWaitBegins, kStart };  // in this order at one instant
struct Moment {
  Instant at;
  Happens what = Happens::kEnd;
  uint32_t run = 0;
  auto operator<=>(const Moment&) const = default;
};

bool is_before_eligible(std::string_view reason) {
  return reason == "Dependency" || reason == "BeginTime" || reason.starts_with("JobHeld") || reason == "DependencyNeverSatisfied";
}

class Sweep {
 public:
  Sweep(const History& history, const QueueHistory& queue, Instant until)
      : history_(history), queue_(queue), until_(until), records_(by_run(queue)) {
    list_partitions();
    for (uint32_t r = 0; r < history.runs.size(); ++r)
      take_in(r);
    std::sort(moments_.begin(), moments_.end());
  }

  std::vector<RunWait> run() {
    Instant now;
    for (const Moment& moment : moments_) {
      if (moment.at > now) pass_time(moment.at - now);
      now = moment.at;
      switch (moment.what) {
        case Happens::kEnd: hold(moment.run, -1); break;
        case Happens::kWaitBegins: begin_wait(moment.run); break;
        case Happens::kStart: start(moment.run); break;
      }
    }
    std::vector<RunWait> out;
    for (auto& [run, wait] : waits_)
      if (wait.total() > Duration()) out.push_back(std::move(wait));
    return out;
  }

 private:
  void list_partitions() {
    for (uint32_t n = 0; n < history_.nodes.size(); ++n) {
      node_ids_[history_.nodes[n].name] = n;
      free_.push_back(std::max<int64_t>(0, history_.nodes[n].gpu_count));
    }
    of_node_.resize(history_.nodes.size());
    for (const PartitionNode& entry : partitions_of(history_, queue_)) {
      const auto node = node_ids_.find(entry.node);
      if (node == node_ids_.end()) continue;
      const auto [it, fresh] = partition_ids_.try_emplace(entry.partition, partitions_.size());
      if (fresh) partitions_.emplace_back();
      Partition& partition = partitions_[it->second];
      const std::string& model = history_.nodes[node->second].gpu_model;
      partition.one_model &= fresh || partition.gpu_model == model;
      partition.gpu_model = model;
      partition.change(-1, free_[node->second]);
      of_node_[node->second].push_back(it->second);
    }
  }

  void take_in(uint32_t r) {
    const Run& run = history_.runs[r];
    if (run.started) {
      moments_.push_back({*run.started, Happens::kStart, r});
      if (holds(run)) moments_.push_back({run.ended.value_or(until_), Happens::kEnd, r});
    }
    const auto record = records_.find({run.id, run.restart});
    if (record == records_.end() || !run.submitted || (!run.started && run.ended)) return;
    const QueueRecord& queue = *record->second;
    const Instant end = run.started.value_or(until_);
    RunWait wait{.run = r, .reason = queue.reason};
    // Without such a moment it was eligible at once, unless what it waits for is said.
    const Instant eligible = std::clamp(queue.eligible.value_or(is_before_eligible(queue.reason) ? end : *run.submitted),
                                        *run.submitted, std::max(*run.submitted, end));
    wait.by[static_cast<size_t>(WaitKind::kNotEligible)] = eligible - *run.submitted;
    const auto partition = partition_ids_.find(queue.partition);
    if (eligible < end && !queue.reason.empty() && !is_before_eligible(queue.reason)) {
      wait.by[static_cast<size_t>(WaitKind::kLimit)] = end - eligible;
    } else if (eligible < end && partition != partition_ids_.end()) {
      shapes_[r] = shape_of(run, partition->second);
      moments_.push_back({eligible, Happens::kWaitBegins, r});
      if (!run.started) moments_.push_back({until_, Happens::kStart, r});
    }
    waits_.emplace(r, std::move(wait));
  }

  /// As many machines as it got; one that has not begun, as few as hold it.
  [[nodiscard]] Shape shape_of(const Run& run, size_t partition) const {
    int64_t machines = static_cast<int64_t>(run.allocations.size());
    if (machines == 0) {
      const auto most = static_cast<int64_t>(partitions_[partition].machines_with.size()) - 1;
      machines = most > 0 ? (run.gpus_requested + most - 1) / most : 1;
    }
    machines = std::max<int64_t>(1, machines);
    return {partition, machines, (run.gpus_requested + machines - 1) / machines};
  }

  [[nodiscard]] bool holds(const Run& run) const { return run.started && run.ended.value_or(until_) > *run.started; }

  void hold(uint32_t r, int64_t sign) {
    const Run& run = history_.runs[r];
    for (const RunAllocation& allocation : run.allocations) {
      const auto node = node_ids_.find(allocation.node);
      if (node == node_ids_.end() || run.share) continue;
      const int64_t before = std::max<int64_t>(0, free_[node->second]);
      free_[node->second] -= sign * allocation.gpu_count;
      for (const size_t p : of_node_[node->second])
        partitions_[p].change(before, std::max<int64_t>(0, free_[node->second]));
    }
  }

  void pass_time(Duration length) {
    for (auto& [shape, time] : times_)
      if (time.waiting > 0) {
        Duration& of_kind = time.by[static_cast<size_t>(kind_now(shape))];
        of_kind = of_kind + length;
      }
  }

  [[nodiscard]] WaitKind kind_now(const Shape& shape) const {
    const Partition& partition = partitions_[shape.partition];
    if (partition.free < shape.machines * shape.gpus_each) return WaitKind::kNoGpus;
    return partition.fits(shape.machines, shape.gpus_each) ? WaitKind::kRank : WaitKind::kFragmented;
  }

  void begin_wait(uint32_t r) {
    const Shape& shape = shapes_.at(r);
    ShapeTime& time = times_[shape];
    ++time.waiting;
    begun_[r] = time;
    if (shape.gpus_each > 0 && kind_now(shape) != WaitKind::kRank) waits_.at(r).elsewhere = partition_with_room(shape);
  }

  [[nodiscard]] std::string partition_with_room(const Shape& shape) const {
    const Partition& own = partitions_[shape.partition];
    for (const auto& [name, p] : partition_ids_) {
      const Partition& other = partitions_[p];
      if (p != shape.partition && own.one_model && other.one_model && own.gpu_model == other.gpu_model &&
          other.fits(shape.machines, shape.gpus_each))
        return name;
    }
    return "";
  }

  void start(uint32_t r) {
    if (const auto begun = begun_.find(r); begun != begun_.end()) {
      ShapeTime& time = times_.at(shapes_.at(r));
      --time.waiting;
      for (size_t k = 0; k < kWaitKinds; ++k)
        waits_.at(r).by[k] = waits_.at(r).by[k] + (time.by[k] - begun->second.by[k]);
      begun_.erase(begun);
    }
    if (holds(history_.runs[r])) hold(r, 1);
  }

  const History& history_;
  const QueueHistory& queue_;
  const Instant until_;
  const std::map<RunKey, const QueueRecord*> records_;
  std::map<std::string, uint32_t, std::less<>> node_ids_;
  std::vector<int64_t> free_;  ///< by node; below 0 where records contradict each other
  std::vector<std::vector<size_t>> of_node_;
  std::map<std::string, size_t, std::less<>> partition_ids_;
  std::vector<Partition> partitions_;
  std::vector<Moment> moments_;
  std::map<uint32_t, RunWait> waits_;
  std::map<uint32_t, Shape> shapes_;
  std::map<Shape, ShapeTime> times_;
  std::map<uint32_t, ShapeTime> begun_;  ///< what its shape had waited when its own wait began
};

}  // namespace

Duration RunWait::total() const { return std::accumulate(by.begin(), by.end(), Duration()); }

std::vector<RunWait> waits_of_runs(const History& history, const QueueHistory& queue, Instant until) {
  return Sweep(history, queue, until).run();
}

std::vector<PartitionNode> partitions_of(const History& history, const QueueHistory& queue) {
  std::set<PartitionNode> out(queue.partitions.begin(), queue.partitions.end());
  const auto records = by_run(queue);
  for (const Run& run : history.runs) {
    const auto record = records.find({run.id, run.restart});
    if (record == records.end() || record->second->partition.empty()) continue;
    for (const RunAllocation& allocation : run.allocations)
      out.insert({record->second->partition, allocation.node});
  }
  return {out.begin(), out.end()};
}

}  // namespace stint
