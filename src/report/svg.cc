#include "report/svg.h"

#include <fmt/format.h>

namespace stint {
namespace {

std::string tip_of(std::string_view tip) { return tip.empty() ? std::string() : element("title", tip).str(); }

/// One decimal is a tenth of a pixel.
std::string number(double v) {
  std::string out = fmt::format("{:.1f}", v);
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title) : width_(width), height_(height), title_(title) {}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>", number(x1), number(y1), number(x2),
                       number(y2), css_class);
}

void Svg::polyline(const std::vector<SvgPoint>& points, std::string_view css_class) {
  std::string path;
  for (const SvgPoint& p : points)
    path += fmt::format("{}{},{}", path.empty() ? "" : " ", number(p.x), number(p.y));
  body_ += fmt::format("<polyline points=\"{}\" class=\"{}\"/>", path, css_class);
}

void Svg::circle(double x, double y, double radius, std::string_view css_class, std::string_view tip) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"{}\">{}</circle>", number(x), number(y), number(radius),
                       css_class, tip_of(tip));
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view css_class) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  body_ += element("text",
                   {{"x", number(x)},
                    {"y", number(y)},
                    {"text-anchor", std::string(kAnchors[static_cast<size_t>(anchor)])},
                    {"class", std::string(css_class)}},
                   Html::text(text))
               .str();
}

Html Svg::render() const {
  const Html svg = element(
      "svg", {{"viewBox", fmt::format("0 0 {} {}", number(width_), number(height_))}, {"role", "img"}, {"aria-label", title_}},
      Html::markup(body_));
  return element("div", {{"class", "chart"}}, svg);
}

}  // namespace stint
