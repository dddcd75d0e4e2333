#include "sched/spot/spot_policy.h"

namespace stint::sched {

Status SpotTask::check() const {
  constexpr int64_t kMost = int64_t{10} * 366 * 24 * 3600;  // products of two such times fit an int64
  if (tick_s <= 0 || tick_s > kMost) return invalid("a tick of {} s: expected 1 s to ten years", tick_s);
  if (work_s <= 0 || work_s > kMost) return invalid("{} s of work: expected 1 s to ten years", work_s);
  if (deadline_s <= 0 || deadline_s > kMost) return invalid("a deadline after {} s: expected 1 s to ten years", deadline_s);
  if (changeover_s < 0 || changeover_s > kMost) return invalid("a changeover of {} s: expected 0 s to ten years", changeover_s);
  const int64_t ticks = deadline_s / tick_s;
  if (work_s + changeover_s > ticks * tick_s)
    return invalid(
        "{} s of work and a changeover of {} s do not fit the {} ticks of {} s before the deadline: even on-demand "
        "from the beginning would miss it",
        work_s, changeover_s, ticks, tick_s);
  return {};
}

}  // namespace stint::sched
