// The figures of a replay as rows: written once for terminal and page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/replay_view.h"

namespace stint {

/// "42 s", "3.2 min", "5.1 h", "12 d".
std::string shown_seconds(double seconds);

struct ReplayFigure {
  std::string label;
  std::string group;                ///< heading it stands under
  std::vector<std::string> values;  ///< by run; "–" for what was not replayed
  std::vector<Tone> tones;          ///< by run: better or worse than the first of its group where that can be said
};
/// All runs are of one workload.
std::vector<ReplayFigure> replay_figures(const ReplayView& view);

/// One line per run, what people ask first: waiting, completion, work lost, money and what is saved. First row: headings.
std::vector<std::vector<std::string>> replay_summary(const ReplayView& view);

}  // namespace stint
