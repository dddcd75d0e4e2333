#include <fmt/format.h>

#include "report/replay_figures.h"

namespace stint {

std::string replay_text(const ReplayView& view, Colour colour) {
  std::string out = toned(fmt::format("Replay of {}", view.source), Tone::kStrong, colour) +
                    fmt::format("\n  {} jobs on {} GPUs of {} nodes, seed {}\n\n", view.jobs, view.gpus, view.nodes, view.seed);
  std::vector<Column> columns = {{"", Align::kLeft}};
  for (const ReplayRun& run : view.runs)
    columns.push_back({run.change.empty() ? run.policy : run.policy + " + " + run.change, Align::kRight, 40});
  Table table(columns);
  std::string group;
  for (const ReplayFigure& figure : replay_figures(view)) {
    if (figure.group != group) {
      group = figure.group;
      std::vector<std::string> heading(columns.size());
      heading[0] = group;
      table.add_row(heading, Tone::kStrong);
    }
    std::vector<std::string> cells = {"  " + figure.label};
    cells.insert(cells.end(), figure.values.begin(), figure.values.end());
    table.add_row(cells);
    for (size_t r = 0; r < figure.tones.size(); ++r)
      table.tone_cell(r + 1, figure.tones[r]);
  }
  out += table.render(colour, 2);
  if (!view.notes.empty()) out += "\nNotes\n";
  for (const std::string& note : view.notes)
    out += "  - " + wrapped(note, 112, 4).substr(4);
  return out;
}

}  // namespace stint
