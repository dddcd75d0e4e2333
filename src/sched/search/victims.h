// Victims: who gives way so that a waiting job gets room, as few as possible, and only if it then really gets it.
//
// Who can be asked. Preemptible jobs that run, and those that only have a promise: they lose nothing but that.
//
// Chunks. What stops together: surplus tasks of an elastic job one by one, then the rest of the job at once, so that no job is
// left with part of a gang. `VictimLine` hands them out in the order in which they give way.
//
// Search. The waiting gang is enlarged task by task. For each further task the chunks are gone through in order; each time,
// those so far that hold something on one node of the newest are stopped in a trial, the tasks are placed, and then
// whoever still fits is placed again: back where it was (it stays), or elsewhere (it moves). What is left are the victims, and
// the rules of the action say whether they may be. Nodes that would still have too few GPUs are not tried. As one more task needs one more node, that finds small sets; when it finds
// none, all chunks that may go are tried together, and again those who fit get their places back.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sched/search/state.h"

namespace stint::sched {

struct VictimChunk {
  JobId job;
  std::vector<TaskId> tasks;
  bool last = false;  ///< nothing of the job is left without it
};

/// Chunks of active preemptible jobs in the order in which they give way: the queues in reverse order (as if what was handed
/// out were gone already), in a queue by StateRules::victims.
class VictimLine {
 public:
  using Wanted = std::function<bool(JobId)>;
  /// @param queues  leaves to take from, ascending.
  VictimLine(State& state, std::span<const QueueId> queues, const Wanted& wanted);
  /// The i-th chunk, from 0; nullptr when there are fewer. Valid until the next call.
  [[nodiscard]] const VictimChunk* at(size_t i);

 private:
  struct Candidate {
    JobId job;
    int32_t priority = 0;
    int64_t lost_work = 0;  // of the next chunk; 0 where the order does not ask
    bool surplus = false;   // the next chunk leaves the job running
    Instant started;
    std::vector<TaskId> left;  // active tasks that are not handed out yet; the next to go at the back
    bool operator<(const Candidate& o) const;
  };
  [[nodiscard]] VictimChunk peek(const Candidate& candidate) const;
  void insert(std::vector<Candidate>& line, Candidate candidate);
  /// Leaf below `q` that gives way first; not valid = nothing there.
  [[nodiscard]] QueueId last_below(QueueId q) const;
  bool hand_out();

  State& state_;
  std::vector<std::vector<Candidate>> by_queue_;  // the first to give way at the back
  std::vector<VictimChunk> chunks_;
};

/// Under which rules room may be made.
struct RoomRules {
  bool everybody_placed = false;  ///< none may lose its place: all are placed again
  /// May these stop so that `job` gets `need`? Asked with the accounts as they are before anything is stopped.
  std::function<bool(State&, JobId job, const Amounts& need, std::span<const VictimChunk> victims)> allowed;
  /// When the room is given out in turn (allocate) among the victims, the job and those `ahead`, no victim may get it before
  /// the job: it would come back, and be stopped again.
  bool in_turn = false;
  std::span<const JobId> ahead;     ///< waiting jobs whose turn is before that of `job` in its queue
  size_t most_chunks = SIZE_MAX;    ///< so many are looked at …
  size_t most_attempts = SIZE_MAX;  ///< … and so many trials made, then one with all of them
};

/// What was decided, and done to the State.
struct RoomPlan {
  JobId job;
  std::vector<TaskId> victims;    ///< leaving, or pending again where they only had a promise
  std::vector<TaskId> moved;      ///< stopped, and nominated to another place
  std::vector<TaskId> placed;     ///< tasks of `job`, nominated
  std::vector<Place> new_places;  ///< of `moved`
  std::vector<Place> job_places;  ///< of `placed`
};

/// Makes room for the next tasks of `job`. @return none, with everything as before, when it cannot be done.
std::optional<RoomPlan> make_room(State& state, JobId job, VictimLine& line, const RoomRules& rules);

}  // namespace stint::sched
