// Heads: the first of each shape that waits, tried in order until one is enough or none is left.
#pragma once

#include <optional>
#include <utility>

#include "sched/scheduler_accounts.h"
#include "sched/scheduler_time.h"

namespace stint::sched {

/// What has become of the head of a shape.
enum class Tried : uint8_t {
  kStarted,  ///< it runs: shares, and so the order, may have changed
  kClosed,   ///< its queue keeps it waiting: another may be the shape's head now
  kInVain,   ///< nothing has changed
  kEnough,   ///< no others are to be tried
};
/// What one step makes a bounded number of searches for, each. Claims: by Ground::kReclaim alone.
enum class SearchFor : uint8_t { kStop, kStopOfNewcomer, kClaim, kClaimOfNewcomer, kMove };

class Heads {
 public:
  static constexpr uint32_t kMostSearches = 128;                        // of each kind in one step
  static constexpr Duration kSearchesGoOnAfter = Duration::seconds(1);  // in the next step

  struct View {
    const StepClock& clock;
    const JobTable& jobs;
    const OpenNodes& open;
    const Accounts& accounts;
    StartTimes& times;
  };
  Heads(const View& view, LineBook& book) : s_(view), book_(book) {}

  void begin_step() { book_.searches = {}; }
  /// One more in this step? If not, the others come in the steps behind.
  bool may_search(SearchFor what);

  /// For a shape that is not plain: has not failed since room was last made.
  [[nodiscard]] bool fits(ShapeId s) const;
  /// Its tasks were tried in vain on all that is open.
  void note_failed(ShapeId s);
  /// Jobs of this queue and shape wait until their queue, or one above it, gives something back, or for an hour of their own.
  bool close_if_limited(JobId j);

  /// Tries heads of shapes, the first in order first, until one is enough or none is left.
  /// @param may_try  whether a shape (that has a head) is to be tried; false of those tried in vain.
  /// @param try_head  says what became of the shape's head.
  template <typename MayTry, typename TryHead>
  void try_in_order(MayTry&& may_try, TryHead&& try_head);

 private:
  View s_;
  LineBook& book_;
};

template <typename MayTry, typename TryHead>
void Heads::try_in_order(MayTry&& may_try, TryHead&& try_head) {
  // The first is found by looking at all. Most often it starts, and then the order is another; only when it does not are
  // the others put in line, so that n heads tried in vain cost n log n.
  Pending& pending = book_.pending;
  const QueueUsage& queues = s_.accounts.queues();
  bool in_line = false;
  const auto first = [&]() {
    std::optional<ShapeId> best;
    for (const ShapeId s : pending.shapes())
      if (pending.head(s) != nullptr && may_try(s) && (!best || pending.head_before(queues, s, *best))) best = s;
    return best;
  };
  const auto next_in_line = [&]() {
    std::optional<ShapeId> s = book_.line.take(pending, queues);
    while (s && !may_try(*s))
      s = book_.line.take(pending, queues);
    return s;
  };
  while (const std::optional<ShapeId> s = in_line ? next_in_line() : first()) {
    switch (try_head(*s)) {
      case Tried::kEnough: return;
      case Tried::kStarted: in_line = false; break;
      case Tried::kClosed:
        if (in_line && pending.head(*s) != nullptr) book_.line.add(pending, queues, *s);
        break;
      case Tried::kInVain:
        if (in_line) break;
        in_line = true;
        book_.line.clear();
        for (const ShapeId other : pending.shapes())
          if (other != *s && pending.head(other) != nullptr && may_try(other)) book_.line.add(pending, queues, other);
        break;
    }
  }
}

}  // namespace stint::sched
