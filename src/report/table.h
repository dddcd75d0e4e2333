// Plain text tables for a terminal: aligned columns, two blanks between them, a rule under the headings.
//
// A table that is wider than the screen breaks long texts over lines; if that is not enough it leaves out columns, those that can
// be spared most first, and says so. The first column always stays.
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

/// What text is laid out for: a terminal of so many columns, or a file.
struct Screen {
  Screen() = default;
  Screen(Colour c, size_t w = 0) : colour(c), width(w) {}  // NOLINT(google-explicit-constructor): colour alone is a screen, too
  Colour colour = Colour::kNo;
  size_t width = 0;  ///< columns; 0 = as many as the text needs
};

/// `text` between ANSI escapes when there is colour.
std::string toned(std::string_view text, Tone tone, Screen screen);

struct Column {
  std::string heading;  ///< with the unit
  Align align = Align::kLeft;
  size_t max_width = 0;  ///< on a screen of limited width, longer cells go on in the next line; 0 = as wide as needed
  int spare = 0;         ///< a screen too narrow for all columns leaves out those with the largest first, of alike ones the last
  size_t least = 0;      ///< of a text: rather than break it narrower, columns are left out
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

  /// Lines end in `\n`, carry no trailing blanks and are no wider than the screen. Deterministic.
  /// @param indent  blanks before every line.
  [[nodiscard]] std::string render(Screen screen, size_t indent = 0) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    std::vector<Tone> tones;
    bool rule_before = false;
  };
  /// Which columns are shown, and how wide each is.
  struct Layout {
    std::vector<size_t> columns;
    std::vector<size_t> widths;
  };
  [[nodiscard]] Layout natural_layout(bool limited) const;
  [[nodiscard]] size_t least_width(size_t column, size_t natural) const;
  [[nodiscard]] Layout fitted_layout(size_t width) const;
  [[nodiscard]] std::string left_out_line(const std::vector<size_t>& shown, Screen screen, size_t indent) const;
  std::vector<Column> columns_;
  std::vector<Row> rows_;
  bool rule_pending_ = false;
};

/// `text` broken at blanks into lines of at most `width` columns, each after `indent` blanks; words longer
/// than a line stay whole.
std::string wrapped(std::string_view text, size_t width, size_t indent = 0);
/// Running text: as wide as the screen, but no wider than reads well.
std::string wrapped(std::string_view text, Screen screen, size_t indent = 0);
/// "  - one of several" for each, laid out as running text.
std::string bullets(const std::vector<std::string>& lines, Screen screen);
/// A heading after an empty line.
std::string heading(std::string_view text, Screen screen);
/// Lines that are wider than the screen go on in the next one, at blanks, two columns further in than they began; words longer than
/// a line stay whole. Colours take no room and may go on over lines.
std::string fitted(std::string_view text, Screen screen);
/// The same for a line of shell: broken between words, never within quotes, each line but the last ending in a backslash.
std::string fitted_command(std::string_view line, size_t width);
/// The same for a text of commands and comments: comments go on behind a `#`, what is no line of shell stays as it is.
std::string fitted_commands(std::string_view text, Screen screen);
/// `text` broken into lines of at most `width` columns, the words at blanks, words longer than a line after one of `/-_.,:=@` or
/// wherever the line is full. Nothing is lost but blanks at the ends of lines.
std::vector<std::string> broken(std::string_view text, size_t width);

}  // namespace stint
