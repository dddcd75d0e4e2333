#include "report/bar_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace stint {
namespace {

constexpr double kGrid = 1000;  // of the drawing's own width

/// Two decimals of a thousandth of the width, without trailing zeros.
std::string position(double share) {
  std::string out = fmt::format("{:.2f}", kGrid * std::clamp(share, 0.0, 1.0));
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

/// Upright stripes of the part's own colour over a faint fill: they need no script and no pattern, and print.
std::string stripes(const BarPart& part, double end) {
  const double width = (part.fill == BarFill::kWideStripes ? 12 : 4) / kGrid;
  std::string out;
  for (double at = part.begin; at < end; at += 2 * width)
    out += fmt::format("M{} 0h{}v1h-{}z", position(at), position(std::min(width, end - at)), position(std::min(width, end - at)));
  return fmt::format("<path d=\"{}\" class=\"{} stripes\"/>", out, part.css_class);
}

std::string drawn(const BarPart& part) {
  // A part of anything at all stays visible.
  const double end = std::max(part.end, part.begin + 1 / kGrid);
  std::string out = fmt::format("<rect x=\"{}\" width=\"{}\" height=\"1\" class=\"{}\"", position(part.begin),
                                position(end - part.begin), part.css_class);
  const double opacity = part.fill == BarFill::kSolid ? part.opacity : 0.3 * part.opacity;
  if (opacity < 1) out += fmt::format(" fill-opacity=\"{:.2f}\"", opacity);
  out += part.tip.empty() ? "/>" : '>' + element("title", part.tip).str() + "</rect>";
  return part.fill == BarFill::kSolid ? out : out + stripes(part, end);
}

Html label_of(const BarRow& row) {
  const Html label = Html::text(row.label);
  return row.link.empty() ? label : element("a", {{"href", row.link}}, label);
}

Html drawing(const BarRow& row) {
  std::string parts;
  for (const BarPart& part : row.parts)
    parts += drawn(part);
  return Html::markup(
      fmt::format("<svg viewBox=\"0 0 {} 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">{}</svg>", kGrid, parts));
}

}  // namespace

Html bar_rows(std::span<const BarRow> rows, std::string_view title, BarHeight height, const Html& scale) {
  Html out;
  if (!scale.empty()) out += element("span", Html()) + scale + element("span", Html());
  for (const BarRow& row : rows)
    out += element("span", {{"class", "bar-label"}}, label_of(row)) + drawing(row) +
           element("span", {{"class", "bar-figure"}}, Html::text(row.figure));
  return element(
      "div",
      {{"class", height == BarHeight::kStrip ? "bars strips" : "bars"}, {"role", "group"}, {"aria-label", std::string(title)}},
      out);
}

Html legend(std::span<const LegendEntry> entries) {
  Html out;
  for (const auto& [name, colour] : entries)
    out += element("span", {{"style", fmt::format("--swatch:var(--{})", colour)}}, Html::text(name));
  return element("div", {{"class", "legend"}}, out);
}

}  // namespace stint
