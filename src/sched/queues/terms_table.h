// What jobs ask for, kept once for those in a row that ask for the same: jobs come by the million and repeat themselves, and
// what is read of a job that starts or ends is mostly what was read of the one before it.
#pragma once

#include <span>
#include <vector>

#include "base/id.h"
#include "sched/job.h"
#include "sched/shape.h"

namespace stint::sched {

using TermsId = Id<struct TermsTag>;

class TermsTable {
 public:
  /// @return the id of terms equal to the job's. Looks at the newest of its shape only.
  TermsId intern(ShapeId shape, const JobTerms& job) {
    if (shape.index() >= newest_.size()) newest_.resize(shape.index() + size_t{1});
    TermsId& newest = newest_[shape.index()];
    if (!newest.valid() || !(all_[newest.index()] == job)) {
      newest = TermsId(static_cast<uint32_t>(all_.size()));
      all_.push_back(job);
    }
    return newest;
  }
  [[nodiscard]] const JobTerms& operator[](TermsId t) const { return all_[t.index()]; }
  [[nodiscard]] std::span<JobTerms> all() { return all_; }

 private:
  friend struct SnapshotParts;
  friend struct ForgetParts;
  std::vector<JobTerms> all_;
  std::vector<TermsId> newest_;  // by shape
};

}  // namespace stint::sched
