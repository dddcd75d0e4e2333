// Drawings for reports: SVG built from the few shapes they need. Colours come from the page's style sheet by
// class, so a drawing follows light, dark and print by itself. Units are CSS pixels of the drawing's own grid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/html.h"

namespace stint {

struct SvgPoint {
  double x = 0;
  double y = 0;
};

enum class Anchor { kStart, kMiddle, kEnd };

class Svg {
 public:
  /// @param title  what the drawing shows, for readers who cannot see it.
  Svg(double width, double height, std::string_view title);
  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  void polyline(const std::vector<SvgPoint>& points, std::string_view css_class);
  /// @param tip  shown on hover; may be empty.
  void circle(double x, double y, double radius, std::string_view css_class, std::string_view tip = {});
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::kStart, std::string_view css_class = {});
  [[nodiscard]] Html render() const;

 private:
  double width_, height_;
  std::string title_;
  std::string body_;
};

}  // namespace stint
