#include <fmt/format.h>

#include "base/counted.h"
#include "report/replay_figures.h"

namespace stint {

namespace {

std::string summary(const ReplayView& view, Screen screen) {
  const std::vector<std::vector<std::string>> rows = replay_summary(view);
  std::vector<Column> columns;
  for (const std::string& heading : rows[0])
    columns.push_back({heading, columns.size() < 2 ? Align::kLeft : Align::kRight, 40});
  Table table(columns);
  for (size_t r = 1; r < rows.size(); ++r) {
    if (r > 1 && view.runs[r - 1].change == 0) table.add_rule();
    table.add_row(rows[r]);
  }
  return table.render(screen, 2) + "\n";
}

std::string side_by_side(const ReplayView& view, const ReplayGroup& group, const std::vector<ReplayFigure>& figures,
                         Screen screen) {
  const std::vector<size_t> runs = replayed_of(view, group);
  std::vector<Column> columns = {{group.title, Align::kLeft, 40}};
  for (const size_t r : runs)
    columns.push_back({short_name(view, view.runs[r]), Align::kRight, 40});
  Table table(columns);
  std::string heading;
  for (const ReplayFigure& figure : figures) {
    if (figure.group != heading) {
      heading = figure.group;
      std::vector<std::string> cells(columns.size());
      cells[0] = heading;
      table.add_row(cells, Tone::kStrong);
    }
    std::vector<std::string> cells = {"  " + figure.label};
    for (const size_t r : runs)
      cells.push_back(figure.values[r]);
    table.add_row(cells);
    for (size_t c = 0; c < runs.size(); ++c)
      table.tone_cell(c + 1, figure.tones[runs[c]]);
  }
  return table.render(screen, 2);
}

std::string changes_said(const ReplayView& view, Screen screen) {
  std::string out = "Changes\n";
  for (size_t c = 1; c < view.changes.size(); ++c) {
    out += "  " + wrapped(fmt::format("{}: {}", c, view.changes[c].name), screen, 4).substr(4);
    if (!view.changes[c].refused.empty()) out += wrapped("cannot be replayed: " + view.changes[c].refused, screen, 5);
    for (const std::string& note : view.changes[c].notes)
      out += wrapped(note, screen, 5);
  }
  return out + "\n";
}

}  // namespace

std::string replay_text(const ReplayView& view, Screen screen) {
  std::string out = toned(fmt::format("Replay of {}", view.source), Tone::kStrong, screen) +
                    fmt::format("\n  {} on {} of {}, seed {}\n\n", counted(view.jobs, "job"), counted(view.gpus, "GPU"),
                                counted(view.nodes, "node"), view.seed);
  if (view.changes.size() > 1) out += changes_said(view, screen) + summary(view, screen);
  const std::vector<ReplayFigure> figures = replay_figures(view);
  for (const ReplayGroup& group : groups_of(view))
    out += side_by_side(view, group, figures, screen) + "\n";
  if (!view.notes.empty()) out += "Notes\n";
  return fitted(out + bullets(view.notes, screen), screen);
}

}  // namespace stint
