// Rows of label, drawing and figure that share one scale: bars, stacked bars, waterfalls and heat strips.
// Label and figure are text of the page, so they wrap, print and can be read aloud; only the drawing is SVG
// and stretches to whatever room there is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/html.h"

namespace stint {

/// How sure the figure behind a stretch is: what is less sure is hatched.
enum class BarFill : uint8_t { kSolid, kNarrowStripes, kWideStripes };

/// A filled stretch of the drawing.
struct BarPart {
  double begin = 0;            ///< share of the whole width, 0–1
  double end = 0;              ///< ≥ begin
  std::string_view css_class;  ///< a fill of the page's style sheet
  std::string tip;             ///< shown on hover; may be empty
  double opacity = 1;          ///< 0–1
  BarFill fill = BarFill::kSolid;
};

struct BarRow {
  std::string label;
  std::vector<BarPart> parts;
  std::string figure;
  std::string link = {};  ///< where the label leads: "#id"; empty = nowhere
};

enum class BarHeight { kBar, kStrip };
/// @param title  what is drawn, for readers who cannot see it.
/// @param scale  drawn above the rows, in the same column; may be empty.
Html bar_rows(std::span<const BarRow> rows, std::string_view title, BarHeight height = BarHeight::kBar, const Html& scale = {});

/// Name and CSS variable of a colour, without the dashes: {"storage", "c4"}.
using LegendEntry = std::pair<std::string_view, std::string_view>;
Html legend(std::span<const LegendEntry> entries);

}  // namespace stint
