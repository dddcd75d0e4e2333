// What a replay shows: one workload under several policies, side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/table.h"
#include "sim/replay_result.h"
#include "sim/workload.h"

namespace stint {

struct ReplayRun {
  std::string policy;  ///< as sched::to_text() writes it
  std::string change;  ///< what was changed before; empty = nothing
  sim::ReplayResult result;
  double seconds = 0;  ///< it took to compute; shown, never part of the result
};

struct ReplayView {
  std::string source;  ///< what was replayed, in words
  int64_t jobs = 0;
  int64_t gpus = 0;
  int64_t nodes = 0;
  uint64_t seed = 0;
  std::vector<std::string> node_names;  ///< by NodeId
  std::vector<std::string> job_names;   ///< by JobId
  std::vector<int32_t> node_gpus;       ///< by NodeId
  std::vector<std::string> notes;       ///< what was left out or assumed
  std::vector<ReplayRun> runs;          ///< not empty
};

/// Policies as columns, figures as rows, with the differences against the first.
std::string replay_text(const ReplayView& view, Colour colour);
/// See docs/formats.md, "Replay".
std::string replay_json(const ReplayView& view);
/// One self-contained page without scripts.
std::string replay_html(const ReplayView& view);

}  // namespace stint
