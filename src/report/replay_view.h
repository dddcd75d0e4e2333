// What a replay shows: one workload under several policies and changes, side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/table.h"
#include "sim/replay_result.h"
#include "sim/workload.h"

namespace stint {

/// A way in which the world is other than it was.
struct ReplayChange {
  std::string name;                     ///< "as it is", or what was changed
  std::string refused;                  ///< why it cannot be replayed; empty = it was
  std::vector<std::string> notes;       ///< what was assumed for it
  std::vector<std::string> node_names;  ///< by NodeId
  std::vector<int32_t> node_gpus;       ///< by NodeId
};

struct ReplayRun {
  std::string policy;        ///< as sched::to_text() writes it
  size_t change = 0;         ///< of ReplayView::changes
  sim::ReplayResult result;  ///< means nothing when the change was refused
  double seconds = 0;        ///< it took to compute; shown, never part of the result
};

struct ReplayView {
  std::string source;  ///< what was replayed, in words
  int64_t jobs = 0;
  int64_t gpus = 0;
  int64_t nodes = 0;
  uint64_t seed = 0;
  std::vector<std::string> job_names;  ///< by JobId
  std::vector<std::string> notes;      ///< what was left out or assumed
  std::vector<ReplayChange> changes;   ///< not empty; the first is never refused
  std::vector<ReplayRun> runs;         ///< policy by policy, each with all changes in their order
};

/// Runs of one policy, or of all policies when nothing was changed: columns that are compared with the first of them.
struct ReplayGroup {
  std::string title;  ///< the policy; empty when there is one group only
  std::vector<size_t> runs;
};
std::vector<ReplayGroup> groups_of(const ReplayView& view);
/// Those of its runs that were not refused.
std::vector<size_t> replayed_of(const ReplayView& view, const ReplayGroup& group);
/// What a run is called among those of its group: its policy, or "as it is", "change 1", …
std::string short_name(const ReplayView& view, const ReplayRun& run);
/// Among all: policy and change.
std::string full_name(const ReplayRun& run);
inline bool was_replayed(const ReplayView& view, const ReplayRun& run) { return view.changes[run.change].refused.empty(); }

/// Policies or changes as columns, figures as rows, with the differences against the first; with changes a line per run before.
std::string replay_text(const ReplayView& view, Screen screen);
/// See docs/formats.md, "Replay".
std::string replay_json(const ReplayView& view);
/// One self-contained page without scripts.
std::string replay_html(const ReplayView& view);

}  // namespace stint
