#include "sched/timer_heap.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace stint::sched {
namespace {

TEST(TimerHeap, GivesTheEarliestFirstAndOfThoseTheSmallestJob) {
  TimerHeap heap;
  const auto alive = [](const Timer&) { return true; };
  for (const auto& [second, job] : {std::pair(3, 1U), {1, 9U}, {2, 4U}, {1, 2U}})
    heap.set({.at = Instant() + Duration::seconds(second), .job = JobId(job)}, alive);
  std::vector<uint32_t> jobs;
  while (!heap.empty())
    jobs.push_back(heap.pop().job.index());
  EXPECT_EQ(jobs, (std::vector<uint32_t>{2, 9, 4, 1}));
}

// Each job sets its timer anew again and again; only the last counts. The heap must keep those, and little else.
TEST(TimerHeap, SweepsOutWhatMeansNothingAnyMoreAndKeepsTheRest) {
  constexpr uint32_t kJobs = 300;
  Prng random(7);
  std::vector<uint32_t> starts(kJobs);
  std::vector<Instant> last(kJobs);
  TimerHeap heap;
  size_t set = 0;
  for (; set < 50'000; ++set) {
    const auto j = static_cast<uint32_t>(random.below(kJobs));
    ++starts[j];
    last[j] = Instant() + Duration::seconds(static_cast<int64_t>(random.below(100'000)));
    heap.set({.at = last[j], .job = JobId(j), .starts = starts[j]},
             [&](const Timer& t) { return t.starts == starts[t.job.index()]; });
  }
  std::vector<bool> seen(kJobs);
  size_t popped = 0;
  Instant before;
  for (; !heap.empty(); ++popped) {
    const Timer t = heap.pop();
    EXPECT_LE(before, t.at);
    before = t.at;
    if (t.starts != starts[t.job.index()]) continue;
    EXPECT_FALSE(seen[t.job.index()]);
    seen[t.job.index()] = true;
    EXPECT_EQ(t.at, last[t.job.index()]);
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), kJobs);
  EXPECT_LE(popped, 2048U);
}

}  // namespace
}  // namespace stint::sched
