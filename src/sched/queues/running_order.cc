#include "sched/queues/running_order.h"

#include <algorithm>

namespace stint::sched {

namespace {
bool before(const Waiting& a, const Waiting& b) { return a.before(b); }
}  // namespace

/// The first block whose last entry is not before `job`; the last block when all are.
size_t RunningOrder::block_of(const Waiting& job) const {
  const auto at = std::lower_bound(lasts_.begin(), lasts_.end(), job, before);
  return std::min(static_cast<size_t>(at - lasts_.begin()), lasts_.size() - 1);
}

void RunningOrder::insert(const Waiting& job) {
  ++size_;
  if (blocks_.empty()) {
    blocks_.emplace_back().reserve(2 * kBlock);
    blocks_.back().push_back(job);
    lasts_.push_back(job);
    return;
  }
  const size_t at = block_of(job);
  std::vector<Waiting>& block = blocks_[at];
  block.insert(std::upper_bound(block.begin(), block.end(), job, before), job);
  lasts_[at] = block.back();
  if (block.size() < 2 * kBlock) return;
  std::vector<Waiting> upper(block.begin() + kBlock, block.end());
  upper.reserve(2 * kBlock);
  block.resize(kBlock);
  lasts_.insert(lasts_.begin() + static_cast<ptrdiff_t>(at), block.back());
  blocks_.insert(blocks_.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(upper));
}

void RunningOrder::erase(const Waiting& job) {
  CHECK(!blocks_.empty(), "job {} is not in the order of running jobs", job.job.index());
  const size_t at = block_of(job);
  std::vector<Waiting>& block = blocks_[at];
  const auto found = std::lower_bound(block.begin(), block.end(), job, before);
  CHECK(found != block.end() && *found == job, "job {} is not in the order of running jobs", job.job.index());
  block.erase(found);
  if (block.empty()) {
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(at));
    lasts_.erase(lasts_.begin() + static_cast<ptrdiff_t>(at));
  } else {
    lasts_[at] = block.back();
  }
  --size_;
}

}  // namespace stint::sched
