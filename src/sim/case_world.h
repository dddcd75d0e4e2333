// A cluster case as nodes, requests, jobs and tasks, with the names of the case beside the ids. Whichever engine runs the case
// adds nodes, jobs and tasks in this order, so that ids mean the same everywhere.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sched/job.h"
#include "sched/place/cluster.h"
#include "sched/sched_case.h"

namespace stint {

/// When a case takes place: late enough for every age.
inline constexpr Instant kCaseTime = Instant::from_seconds(1'000'000'000);

struct CaseNames {
  std::vector<const sched::CaseJob*> jobs;    ///< by JobId: oldest first
  std::vector<const sched::CaseTask*> tasks;  ///< by TaskId: contiguous for each job
  std::vector<sched::TaskId> first_task;      ///< by JobId
  std::map<std::string, sched::JobId> job_ids;
  std::map<std::string, sched::TaskId> task_ids;
  std::map<std::string, NodeId> node_ids;
};

/// The tasks of a case where they are at first. Nothing but a seating plan: no queues, no decisions.
struct CaseSeats {
  CaseNames names;
  sched::Cluster cluster{sched::MigCount::kSlices};  // as the cases count
};

/// @return error when the initial state of the case does not fit its own nodes.
Result<CaseSeats> seat_case(const sched::ClusterCase& c);

/// Queues with their parents before them, in an order that every engine adds them in; by name the index in it.
struct CaseQueues {
  std::vector<sched::QueueSpec> specs;
  std::map<std::string, sched::QueueId> ids;
};
/// @return error when parents form a circle.
Result<CaseQueues> queues_of(const sched::ClusterCase& c);

NodeSpec node_of(const sched::CaseNode& node);
/// @param intern  of the engine. @param add_gang  likewise.
sched::JobSpec job_of(const sched::ClusterCase& c, const sched::CaseJob& job, sched::QueueId queue,
                      const std::function<sched::RequestId(const sched::Request&)>& intern,
                      const std::function<sched::GangId(const sched::Gang&)>& add_gang);

}  // namespace stint
