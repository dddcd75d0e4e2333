// Plain text tables for a terminal: aligned columns, two blanks between them, a rule under the headings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stint {

enum class Align { kLeft, kRight };
enum class Colour { kNo, kYes };

/// How a cell, a row or a line stands out; without colour it looks like the rest.
enum class Tone { kPlain, kStrong, kMuted, kGood, kWarn, kBad };
/// `text` between ANSI escapes when there is colour.
std::string toned(std::string_view text, Tone tone, Colour colour);

struct Column {
  std::string heading;  ///< with the unit
  Align align = Align::kLeft;
  size_t max_width = 0;  ///< longer cells are cut with `…`; 0 = as wide as needed
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);
  /// @param cells  one per column, text from anywhere: it is made printable here.
  void add_row(std::vector<std::string> cells, Tone tone = Tone::kPlain);
  /// Tone of one cell of the row added last.
  void tone_cell(size_t column, Tone tone);
  /// A rule before the next row, as above totals.
  void add_rule();
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// Lines end in `\n` and carry no trailing blanks. Deterministic.
  /// @param indent  blanks before every line.
  [[nodiscard]] std::string render(Colour colour, size_t indent = 0) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::vector<Tone> tones;
    bool rule_before = false;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
  bool rule_pending_ = false;
};

/// `text` broken at blanks into lines of at most `width` columns, each after `indent` blanks; words longer
/// than a line stay whole.
std::string wrapped(std::string_view text, size_t width, size_t indent = 0);

}  // namespace stint
