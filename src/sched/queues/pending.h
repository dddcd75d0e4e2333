// Waiting jobs in order, so that the next one to try is found without walking the queue.
//
// Jobs are grouped by queue and shape; a group is a heap by rank. Per shape a tournament over the queues keeps the group
// that goes first; when a queue's share changes, only its paths to the top are played again. As jobs of one shape fit or
// fail together, a failure closes the whole shape (until room appears) and a limit closes the group (until its queue gives
// something back): the cost of a decision does not grow with the number of waiting jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sched/queues/queue_usage.h"
#include "sched/shape.h"

namespace stint::sched {

/// Where a waiting job stands in its queue: smaller goes first.
struct Rank {
  int64_t major = 0;
  int64_t minor = 0;
  auto operator<=>(const Rank&) const = default;
};

struct Waiting {
  Rank rank;
  JobId job;
  bool operator==(const Waiting&) const = default;
  /// Ties go to the older job.
  [[nodiscard]] bool before(const Waiting& o) const { return rank != o.rank ? rank < o.rank : job < o.job; }
};

enum class QueueRule : uint8_t {
  kOneLine,  ///< queues do not matter: one order over all
  kByClaim,  ///< those whose room their queues could claim from others first, else one order over all
  kByShare,  ///< the queue furthest below its share first, inside it by rank
};

class Pending {
 public:
  explicit Pending(QueueRule rule) : rule_(rule) {}

  /// @param amounts  what a job of the shape asks for.
  /// @param preemptible  as all jobs of the shape.
  void push(const QueueUsage& queues, QueueId queue, ShapeId shape, const Amounts& amounts, bool preemptible, const Waiting& job);
  /// The job was started, taken back or moved. @param job  as it was pushed.
  void removed(const QueueUsage& queues, QueueId queue, ShapeId shape, const Waiting& job);

  /// The first waiting job of the shape among open groups; null when there is none. Valid until something changes.
  [[nodiscard]] const Waiting* head(ShapeId shape) const {
    if (shape.index() >= lines_.size() || lines_[shape.index()].first() == kNone) return nullptr;
    return &groups_[lines_[shape.index()].first()].heap.front();
  }
  /// Is it the first of its group, which is open?
  [[nodiscard]] bool leads(const QueueUsage& queues, QueueId queue, ShapeId shape, JobId job) const;
  /// Does the first of one group go before the first of another? Both exist.
  [[nodiscard]] bool before(const QueueUsage& queues, QueueId queue_a, ShapeId a, QueueId queue_b, ShapeId b) const;
  /// Does the head of `a` go before the head of `b`? Both exist.
  [[nodiscard]] bool head_before(const QueueUsage& queues, ShapeId a, ShapeId b) const;
  /// Shapes with waiting jobs, ascending by first use.
  [[nodiscard]] const std::vector<ShapeId>& shapes() const { return active_; }
  [[nodiscard]] int64_t count() const { return count_; }
  [[nodiscard]] int64_t count(ShapeId shape) const;

  /// No head of this group until the queue `at` (this one or one above) gives something back.
  void close(const QueueUsage& queues, QueueId queue, ShapeId shape, QueueId at);
  /// The queue's holdings changed: plays its matches again. @param less  it, and those above it, hold less: opens groups.
  void share_changed(const QueueUsage& queues, QueueId queue, bool less);
  /// Until bring_back() others of the shape are its head: not for long.
  void set_aside(const QueueUsage& queues, QueueId queue, ShapeId shape);
  void bring_back(const QueueUsage& queues);
  [[nodiscard]] bool any_closed() const { return closed_ > 0; }
  /// All that limits have closed may be heads again.
  void open_all(const QueueUsage& queues);
  /// Calls use(queue, shape, jobs) with how many wait in each group.
  template <typename F>
  void for_each_group(F&& use) const {
    for (const Group& group : groups_)
      use(group.queue, group.shape, static_cast<int64_t>(group.heap.size()) - static_cast<int64_t>(group.gone.size()));
  }
  /// Queues were added: numbers everything anew.
  void renumber(const QueueUsage& queues);

  /// Entries in no particular order, those removed but not yet at the top of their heap too.
  template <typename F>
  void for_each(F&& use) const {
    for (const Group& group : groups_)
      for (const Waiting& w : group.heap)
        use(group.queue, group.shape, w);
  }

 private:
  friend struct SnapshotParts;
  friend struct ForgetParts;
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Group {
    QueueId queue;
    ShapeId shape;
    Amounts amounts;  // of one job
    bool preemptible = true;
    std::vector<Waiting> heap;
    std::vector<Waiting> gone;  // heap of removed entries that are not at the top yet
    bool closed = false;
  };
  struct Line {                      // of one shape
    std::vector<uint32_t> group_at;  // by slot
    std::vector<uint32_t> winner;    // tournament of those that play: [1] the best group, leaves from `base` on
    uint32_t base = 1;
    int64_t count = 0;
    [[nodiscard]] uint32_t first() const { return winner.empty() ? kNone : winner[1]; }
  };

  Line& line(const QueueUsage& queues, ShapeId shape);
  Group& group(const QueueUsage& queues, QueueId queue, ShapeId shape);
  void settle(Group& group);
  [[nodiscard]] bool queues_matter(const QueueUsage& queues) const;
  [[nodiscard]] static bool plays(const Group& g) { return !g.closed && !g.heap.empty(); }
  [[nodiscard]] uint32_t better(const QueueUsage& queues, uint32_t a, uint32_t b) const;
  void play_group(const QueueUsage& queues, Line& line, uint32_t slot);
  void play_branch(const QueueUsage& queues, Line& line, uint32_t slot);
  void set_up(const QueueUsage& queues, Line& line);

  QueueRule rule_;
  std::vector<Group> groups_;
  std::vector<Line> lines_;                       // by shape
  std::vector<ShapeId> active_;                   // shapes with waiting jobs
  std::vector<std::vector<uint32_t>> closed_at_;  // by queue: groups closed by its limit
  size_t closed_ = 0;                             // groups
  std::vector<uint32_t> aside_;                   // groups set aside, of those that were not closed
  int64_t count_ = 0;
};

/// Shapes taken from the one whose head goes first to the last. Holds while nothing changes in Pending or the queues' shares
/// but the heads of shapes that are not in it.
class ShapeLine {
 public:
  void clear() { heap_.clear(); }
  /// @param shape  has a head.
  void add(const Pending& pending, const QueueUsage& queues, ShapeId shape);
  /// none when it is empty.
  std::optional<ShapeId> take(const Pending& pending, const QueueUsage& queues);

 private:
  std::vector<ShapeId> heap_;
};

}  // namespace stint::sched
