// Whose account a job is held against: what it claims, promises and has cost.
#pragma once

#include <string_view>

#include "daemon/engine/engine_books.h"

namespace stint {

/// Value of the request's tag `project`; empty = it has none.
std::string_view project_of(const JobRequest& request);

class SpendAccounts {
 public:
  explicit SpendAccounts(GovernBook& book) : book_(book) {}

  /// A job that was taken. @param cost  of all jobs of its array.
  void open(JobBook& job, const MostCost& cost, bool needs_approval);
  /// It may spend what it may cost at most.
  void promise(JobBook& job);
  /// It has cost that; so much less is promised.
  void post(JobBook& job, const RunPosting& posting);
  /// What runs and what still waits is counted. @param id  the scheduler's. @param to  its next state.
  void change_state(uint32_t id, const JobBook& job, JobState to);
  /// It has ended.
  void close(JobBook& job);

 private:
  GovernBook& book_;
};

}  // namespace stint
