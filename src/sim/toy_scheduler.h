// A scheduler small enough to be right by looking at it, with switches that break it, one promise each. For tests only:
// replay is tested with it whole, the checkers with it broken.
//
// First come, first served over whole GPUs; a job with a higher priority than all that run stops the last started when it
// does not fit. It knows queues only by the limit of the first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/decision.h"
#include "sched/job.h"
#include "sched/place/cluster.h"
#include "sched/queues/queue.h"

namespace stint::sim {

enum class Defect : uint8_t {
  kNone,
  kDoubleBooking,      ///< gives out GPU 0 of node 0 whatever is on it
  kDownNode,           ///< places on nodes that are down
  kPartialGang,        ///< starts a gang with its first task
  kLostJob,            ///< forgets every third job
  kDuplicate,          ///< starts a job again that runs
  kIgnoredLimit,       ///< knows no limits
  kFirmAboveDeserved,  ///< knows no guarantees
  kTooEarly,           ///< knows no not_before
  kNoDependencies,     ///< starts without waiting for others
  kEvictsFirm,         ///< stops what cannot be preempted
  kNoMinRuntime,       ///< stops what has just begun
  kBrokenPromise,      ///< stops a job for another that it then never starts
  kHalfEvicted,        ///< stops one task of a gang
  kRejectsAll,         ///< says of everything that it never fits
  kSpins,              ///< wants to be woken at once, for ever
  kStarves,            ///< starts the first job only when all the others have come
  kSwaps,              ///< stops, every minute, whoever started last for whoever waits
  kTakesBack,          ///< stops what it has only just started
};

class ToyScheduler {
 public:
  explicit ToyScheduler(Defect defect = Defect::kNone) : defect_(defect) {}

  NodeId add_node(const NodeSpec& node) {
    nodes_.push_back({node.gpus, (uint64_t{1} << node.gpus) - 1, true});
    return NodeId(static_cast<uint32_t>(nodes_.size() - 1));
  }
  sched::QueueId add_queue(const sched::QueueSpec& queue) {
    queues_.push_back(queue);
    return sched::QueueId(static_cast<uint32_t>(queues_.size() - 1));
  }
  sched::RequestId intern(const sched::Request& request) {
    requests_.push_back(request);
    return sched::RequestId(static_cast<uint32_t>(requests_.size() - 1));
  }
  sched::GangId intern(const sched::Gang&) { return sched::GangId(gangs_++); }
  sched::JobId add(const sched::JobSpec& spec) {
    jobs_.push_back({spec, next_task_, {}, {}, false, false, {}});
    next_task_ += static_cast<uint32_t>(spec.tasks);
    return sched::JobId(static_cast<uint32_t>(jobs_.size() - 1));
  }
  [[nodiscard]] Instant next_wakeup() const {
    if (defect_ == Defect::kSpins) return now_;
    Instant next = defect_ == Defect::kSwaps && !waiting_.empty() ? now_ + Duration::minutes(1) : sched::kNever;
    for (const sched::JobId j : waiting_)
      if (jobs_[j.index()].spec.not_before > now_) next = std::min(next, jobs_[j.index()].spec.not_before);
    return next;
  }

  std::span<const sched::Decision> step(Instant now, std::span<const sched::Event> events) {
    now_ = now;
    decisions_.clear();
    places_.clear();
    for (const sched::Event& e : events)
      apply(e);
    for (size_t i = 0; i < waiting_.size();) {
      if (try_start(waiting_[i]))
        waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      else
        ++i;
    }
    // Places may have moved while more were added.
    size_t at = 0;
    for (sched::Decision& d : decisions_) {
      const size_t count = d.places.size();
      d.places = std::span(places_).subspan(at, count);
      at += count;
    }
    return decisions_;
  }

 private:
  struct NodeBook {
    int32_t gpus = 0;
    uint64_t free = 0;
    bool usable = true;
  };
  struct JobBook {
    sched::JobSpec spec;
    uint32_t first_task = 0;
    std::vector<sched::Place> places;
    Instant started;
    bool leaving = false;
    bool succeeded = false;
    sched::JobId room_for;
  };

  void apply(const sched::Event& e) {
    using sched::EventKind;
    switch (e.kind) {
      case EventKind::kNodeUp: nodes_[e.node.index()] = {nodes_[e.node.index()].gpus, mask(e.node), true}; break;
      case EventKind::kNodeDown:
      case EventKind::kNodeGone: lose(e.node); break;
      case EventKind::kNodeDrain:
      case EventKind::kSpotNotice: nodes_[e.node.index()].usable = defect_ == Defect::kDownNode; break;
      case EventKind::kFinished:
        give_back(e.job);
        jobs_[e.job.index()].succeeded = true;
        break;
      case EventKind::kFailed: give_back(e.job); break;
      case EventKind::kLost:
      case EventKind::kEvicted: task_left(e.job, e.task); break;
      case EventKind::kCancel: std::erase(waiting_, e.job); break;
      case EventKind::kSubmit:
        ++next_submitted_;
        if (defect_ == Defect::kLostJob && e.job.index() % 3 == 2) break;
        waiting_.push_back(e.job);
        break;
      case EventKind::kHold:
      case EventKind::kRelease:
      case EventKind::kPrice:
      case EventKind::kCheckpoint:
      case EventKind::kMetric:
      case EventKind::kTick: break;
    }
  }

  [[nodiscard]] uint64_t mask(NodeId n) const { return (uint64_t{1} << nodes_[n.index()].gpus) - 1; }

  void lose(NodeId n) {
    nodes_[n.index()].usable = defect_ == Defect::kDownNode;
    nodes_[n.index()].free = mask(n);
    for (uint32_t j = 0; j < jobs_.size(); ++j) {
      JobBook& job = jobs_[j];
      if (std::erase_if(job.places, [&](const sched::Place& p) { return p.node == n; }) == 0) continue;
      if (!job.places.empty() && !job.leaving) evict(sched::JobId(j), sched::Reason::kStaleGang, {}, job.places.size());
      if (job.places.empty()) waits_again(sched::JobId(j));
    }
  }

  void give_back(sched::JobId j) {
    for (const sched::Place& p : jobs_[j.index()].places)
      nodes_[p.node.index()].free |= p.gpus;
    jobs_[j.index()].places.clear();
  }

  void task_left(sched::JobId j, sched::TaskId task) {
    JobBook& job = jobs_[j.index()];
    const auto at = std::ranges::find(job.places, task, &sched::Place::task);
    if (at == job.places.end()) return;
    nodes_[at->node.index()].free |= at->gpus;
    job.places.erase(at);
    if (job.places.empty()) waits_again(j);
  }

  void waits_again(sched::JobId j) {
    jobs_[j.index()].leaving = false;
    waiting_.push_back(j);
    if (defect_ == Defect::kSwaps) return;
    std::ranges::sort(waiting_, [&](sched::JobId a, sched::JobId b) { return before(a, b); });
  }
  [[nodiscard]] bool before(sched::JobId a, sched::JobId b) const {
    const int32_t pa = jobs_[a.index()].spec.priority, pb = jobs_[b.index()].spec.priority;
    return pa != pb ? pa > pb : a < b;
  }

  [[nodiscard]] bool may_start(const JobBook& job) const {
    if (job.spec.not_before > now_ && defect_ != Defect::kTooEarly) return false;
    if (defect_ == Defect::kStarves && job.first_task == 0 && next_submitted_ < jobs_.size()) return false;
    for (const sched::JobId after : job.spec.after)
      if (!jobs_[after.index()].succeeded && defect_ != Defect::kNoDependencies) return false;
    int64_t held = 0, firm = 0;
    for (const JobBook& other : jobs_)
      if (!other.leaving) {
        const auto gpu_milli = static_cast<int64_t>(other.places.size()) * gpus_of(other) * 1000;
        held += gpu_milli;
        if (!other.spec.preemptible) firm += gpu_milli;
      }
    const int64_t more = int64_t{job.spec.tasks} * gpus_of(job) * 1000;
    const sched::QueueSpec& queue = queues_.front();
    if (defect_ != Defect::kIgnoredLimit && held + more > queue.limit.gpu_milli.value_or(INT64_MAX)) return false;
    return job.spec.preemptible || defect_ == Defect::kFirmAboveDeserved ||
           firm + more <= queue.deserved.gpu_milli.value_or(INT64_MAX);
  }
  [[nodiscard]] int32_t gpus_of(const JobBook& job) const { return requests_[job.spec.request.index()].gpus; }

  bool try_start(sched::JobId j) {
    JobBook& job = jobs_[j.index()];
    if (defect_ == Defect::kRejectsAll) {
      decisions_.push_back({sched::DecisionKind::kReject, sched::Reason::kNeverFits, j, {}, {}});
      return true;
    }
    if (!may_start(job)) return false;
    const std::vector<sched::Place> places = find_room(job);
    const auto enough = static_cast<size_t>(defect_ == Defect::kPartialGang ? 1 : job.spec.tasks);
    if (places.size() < enough) {
      make_room(j);
      return false;
    }
    job.places = places;
    job.started = now_;
    for (const sched::Place& p : places)
      nodes_[p.node.index()].free &= ~p.gpus;
    decide({sched::DecisionKind::kStart, sched::Reason::kFree, j, {}, places});
    if (defect_ == Defect::kDuplicate) decide({sched::DecisionKind::kStart, sched::Reason::kFree, j, {}, places});
    return true;
  }

  [[nodiscard]] std::vector<sched::Place> find_room(const JobBook& job) const {
    std::vector<NodeBook> nodes = nodes_;
    std::vector<sched::Place> places;
    for (uint32_t t = 0; t < static_cast<uint32_t>(job.spec.tasks); ++t)
      for (uint32_t n = 0; n < nodes.size(); ++n) {
        uint64_t taken = 0, free = nodes[n].free;
        if (defect_ == Defect::kDoubleBooking) free = (uint64_t{1} << nodes[n].gpus) - 1;
        for (int32_t g = 0; g < gpus_of(job) && free != 0; ++g) {
          taken |= free & -free;
          free &= free - 1;
        }
        if (!nodes[n].usable || __builtin_popcountll(taken) < gpus_of(job)) continue;
        nodes[n].free &= ~taken;
        sched::Place place;
        place.task = sched::TaskId(job.first_task + t);
        place.node = NodeId(n);
        place.gpus = taken;
        places.push_back(place);
        break;
      }
    return places;
  }

  // Stops the last started of a lower priority, one at a time, until enough has been.
  void make_room(sched::JobId j) {
    sched::JobId victim;
    for (uint32_t v = 0; v < jobs_.size(); ++v) {
      const JobBook& job = jobs_[v];
      if (job.leaving) return;  // one after the other
      if (job.places.empty()) continue;
      if (job.spec.priority >= jobs_[j.index()].spec.priority && defect_ != Defect::kSwaps) continue;
      if (!job.spec.preemptible && defect_ != Defect::kEvictsFirm) continue;
      if (now_ - job.started < job.spec.min_runtime && defect_ != Defect::kNoMinRuntime) continue;
      if (now_ - job.started < Duration::minutes(1) && defect_ != Defect::kTakesBack) continue;
      if (!victim.valid() || job.started >= jobs_[victim.index()].started) victim = sched::JobId(v);
    }
    if (!victim.valid()) return;
    const size_t tasks = defect_ == Defect::kHalfEvicted ? 1 : jobs_[victim.index()].places.size();
    const sched::JobId never(static_cast<uint32_t>(jobs_.size() - 1));
    evict(victim, sched::Reason::kPriority, defect_ == Defect::kBrokenPromise ? never : j, tasks);
  }

  void evict(sched::JobId victim, sched::Reason reason, sched::JobId for_job, size_t tasks) {
    JobBook& job = jobs_[victim.index()];
    job.leaving = true;
    decide({sched::DecisionKind::kEvict, reason, victim, for_job, std::span(job.places).first(tasks)});
  }

  void decide(const sched::Decision& decision) {
    decisions_.push_back(decision);
    places_.insert(places_.end(), decision.places.begin(), decision.places.end());
  }

  Defect defect_;
  Instant now_;
  uint32_t next_task_ = 0, gangs_ = 0;
  size_t next_submitted_ = 0;
  std::vector<NodeBook> nodes_;
  std::vector<sched::QueueSpec> queues_;
  std::vector<sched::Request> requests_;
  std::vector<JobBook> jobs_;
  std::vector<sched::JobId> waiting_;
  std::vector<sched::Decision> decisions_;
  std::vector<sched::Place> places_;
};

}  // namespace stint::sim
