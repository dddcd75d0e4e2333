// Conformance cases (format sched-case/1): an initial state and what a scheduler is expected to make of it, as plain values.
// Names are kept as in the file; whoever runs a case turns them into ids.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sched/job.h"
#include "sched/queues/queue.h"
#include "sched/request.h"

namespace stint::sched {

// Kind `cluster`.

struct CaseNode {
  std::string name;
  int32_t gpus = 0;
  int64_t gpu_memory_mib = 0;  ///< of each GPU
  std::vector<MigAsk> mig;
  std::string mig_strategy;  ///< "", "none", "single", "mixed"
  int64_t cpu_milli = 0;
  int64_t memory_bytes = 0;
  int32_t max_tasks = 0;
  std::vector<Label> labels;
};

struct CaseQueue {
  std::string name;
  std::string parent;  ///< empty = top level
  QueueSpec spec;      ///< without parent
};

struct CaseTopologyWish {
  std::string topology;  ///< empty = no wish
  std::string required_level;
  std::string preferred_level;
};

/// Parents before children.
struct CaseGroup {
  std::string name;
  int32_t parent = -1;
  int32_t min_tasks = 0;
  CaseTopologyWish topology;
};

struct CaseTask {
  std::string id;
  std::string state;
  std::string node;  ///< empty = none
  Request request;
  std::string gpu_group;  ///< label of a shared GPU; empty = none
  std::string group;      ///< leaf it belongs to; empty = the job
  int32_t priority = 0;
};

struct CaseJob {
  std::string name;
  std::string queue;
  int32_t priority = 0;
  bool preemptible = false;
  int64_t age_minutes = 0;
  int32_t min_tasks = 1;
  std::vector<CaseGroup> groups;
  CaseTopologyWish topology;
  std::optional<int64_t> stale_for_s;
  bool deleted_when_evicted = false;
  std::vector<CaseTask> tasks;
};

/// What is expected of a job (all its tasks) or of a task. Amounts in milli-GPU.
struct CaseExpectation {
  std::string state;      ///< empty = not checked
  std::string node;       ///< tie-break
  std::string gpu_group;  ///< tie-break
  std::optional<int64_t> tasks;
  std::optional<int64_t> gpu_milli;
  std::optional<int64_t> gpu_milli_granted;
};

struct CaseNodeExpectation {
  std::optional<int64_t> idle_gpus;
  std::optional<int64_t> releasing_gpus;
};

struct CasePerRound {
  std::optional<int64_t> max_binds;
  std::optional<int64_t> max_evictions;
  std::optional<int64_t> max_nominations;
};

struct ClusterCase {
  bool single_step = false;
  std::vector<std::string> steps;
  int32_t rounds = 1;
  int32_t stable_rounds = 0;
  int64_t stale_grace_s = 0;
  bool spread_gpu_nodes = false;
  bool spread_cpu_nodes = false;
  bool spread_shared_gpus = false;
  std::map<std::string, std::vector<std::string>> topologies;  ///< name → levels
  std::vector<CaseNode> nodes;
  std::vector<CaseQueue> queues;
  std::vector<CaseJob> jobs;
  struct Expect {
    std::map<std::string, CaseExpectation> jobs;
    std::map<std::string, CaseExpectation> tasks;
    std::optional<std::vector<std::string>> victims;
    std::map<std::string, CaseNodeExpectation> nodes;
    CasePerRound per_round;
    bool has_tie_break = false;
    std::map<std::string, CaseExpectation> tie_break_jobs;
    std::map<std::string, CaseExpectation> tie_break_tasks;
    std::optional<std::vector<std::string>> moved;
  } expect;
};

// Kind `fair_share`.

struct FairShareCase {
  struct Queue {
    std::string name;
    std::optional<double> deserved;  ///< none = unlimited
    std::optional<double> limit;
    double weight = 0;
    double request = 0;
    double usage = 0;
    double initial_share = 0;
    int32_t priority = 0;
    int32_t created = 0;
  };
  double total = 0;
  double k_value = 0;
  bool over_quota_only = false;
  std::vector<Queue> queues;
  std::map<std::string, double> share;  ///< expected
  std::optional<double> remaining;      ///< expected
};

// Kind `victim_selection`.

struct VictimCase {
  struct Quota {
    std::string flavor;
    std::string resource;
    int64_t nominal = 0;
    std::optional<int64_t> borrowing_limit;
    std::optional<int64_t> lending_limit;
  };
  struct Cohort {
    std::string name;
    std::string parent;  ///< empty = root
    double fair_weight = 1;
    std::vector<Quota> quotas;
  };
  struct Queue {
    std::string name;
    std::string cohort;  ///< empty = none
    double fair_weight = 1;
    std::vector<Quota> quotas;
    std::string within_queue;
    std::string reclaim_within_cohort;
    bool may_borrow = false;  ///< borrow_within_cohort is given
    std::string borrow_policy;
    std::optional<int32_t> borrow_max_priority;
  };
  struct Amount {
    std::string flavor;
    std::string resource;
    int64_t amount = 0;
    bool needs_preemption = false;  ///< of the incoming workload
  };
  struct Workload {
    std::string name;
    std::string uid;
    std::string queue;
    int32_t priority = 0;
    int64_t created_s = 0;
    int64_t reserved_s = 0;
    bool already_evicted = false;
    std::vector<Amount> amounts;
  };
  struct Victim {
    std::string name;
    std::string reason;
    bool operator==(const Victim&) const = default;
    auto operator<=>(const Victim&) const = default;
  };
  bool fair_sharing = false;
  std::vector<std::string> fair_strategies;
  std::vector<Cohort> cohorts;
  std::vector<Queue> queues;
  std::vector<Workload> admitted;
  Workload incoming;
  std::vector<std::string> reasons;            ///< expected, where no victims are named
  std::optional<int64_t> victim_count;         ///< expected
  std::optional<std::vector<Victim>> victims;  ///< expected
};

struct SchedCase {
  std::string id;
  std::vector<std::string> features;
  std::variant<ClusterCase, FairShareCase, VictimCase> what;
};

/// One of "cluster", "fair_share", "victim_selection".
std::string_view kind_of(const SchedCase& c);

}  // namespace stint::sched
