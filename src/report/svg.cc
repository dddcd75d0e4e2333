#include "report/svg.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

#include "report/utf8.h"

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

void Svg::rect(double x, double y, double width, double height, std::string_view css_class, std::string_view tip, double opacity) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"", number(x), number(y), number(std::max(width, 0.0)),
                       number(height), css_class);
  if (opacity < 1) body_ += fmt::format(" fill-opacity=\"{:.2f}\"", opacity);
  body_ += tip.empty() ? "/>" : '>' + tip_of(tip) + "</rect>";
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>", number(x1), number(y1), number(x2), number(y2), css_class);
}

void Svg::circle(double x, double y, double radius, std::string_view css_class, std::string_view tip) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"{}\">{}</circle>", number(x), number(y), number(radius), css_class, tip_of(tip));
}

void Svg::text(double x, double y, std::string_view text, Anchor anchor, std::string_view css_class) {
  constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
  body_ += element("text",
                   {{"x", number(x)}, {"y", number(y)}, {"text-anchor", std::string(kAnchors[static_cast<size_t>(anchor)])},
                    {"class", std::string(css_class)}},
                   Html::text(text))
               .str();
}

Html Svg::render() const {
  const Html svg = element("svg",
                           {{"viewBox", fmt::format("0 0 {} {}", number(width_), number(height_))}, {"role", "img"}, {"aria-label", title_}},
                           Html::markup(body_));
  return element("div", {{"class", "chart"}}, svg);
}

std::vector<double> nice_ticks(double max, int count) {
  CHECK(max > 0 && count > 0, "{} ticks up to {}", count, max);
  const double rough = max / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double lead = rough / power;
  const double step = power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  std::vector<double> ticks;
  for (int i = 0; ticks.empty() || ticks.back() < max * (1 - 1e-9); ++i) ticks.push_back(i * step);
  return ticks;
}

std::string fitted(std::string_view text, double pixels) {
  // 12 px sans-serif runs at about 6.2 px a column.
  return cut_to_width(printable(text), static_cast<size_t>(std::max(pixels / 6.2, 1.0)));
}

}  // namespace stint
