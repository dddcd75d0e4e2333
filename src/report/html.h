// HTML for reports: one self-contained document with its style inside; no script, no external resource.
//
// Text reaches a document only through Html::text or an attribute, which escape it; so a client named
// `<script>` is shown, never run. The style follows printed financial reports: one ink, one accent, three
// signal colours, tabular figures, hairline rules; light and dark by the reader's setting; A4 in print.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/table.h"

namespace stint {

/// Markup that is safe to put into a document.
class Html {
 public:
  Html() = default;
  /// Escaped for element content and attributes alike; control characters replaced.
  static Html text(std::string_view text);
  /// Our own markup, never text from outside.
  static Html markup(std::string markup);
  Html& operator+=(const Html& other) {
    markup_ += other.markup_;
    return *this;
  }
  friend Html operator+(Html a, const Html& b) { return a += b; }
  [[nodiscard]] const std::string& str() const { return markup_; }
  [[nodiscard]] bool empty() const { return markup_.empty(); }

 private:
  std::string markup_;
};

using Attribute = std::pair<std::string_view, std::string>;  ///< name, value (unescaped)
/// `<tag a="b">content</tag>`
Html element(std::string_view tag, std::initializer_list<Attribute> attributes, const Html& content);
Html element(std::string_view tag, const Html& content);
Html element(std::string_view tag, std::string_view text);

struct PageText {
  std::string title;     ///< also the document's title
  std::string kicker;    ///< small line above the title: what kind of document
  std::string subtitle;  ///< line below it: period, basis
  std::string footer;
};
/// A whole document, from doctype to `</html>`.
std::string html_page(const PageText& text, const Html& body);

/// A titled section. @param id  anchor: letters, digits and dashes. @param lead  one sentence, may be empty.
Html section(std::string_view id, std::string_view title, std::string_view lead, const Html& body);

/// The sections of a page one after another, with links to them above; an empty one leaves no trace.
class PageSections {
 public:
  /// @param id  of the section. @param name  short, for the contents.
  void add(std::string_view id, std::string_view name, const Html& section);
  /// What stands between two sections and is in no contents.
  void add(const Html& between) { body_ += between; }
  /// Contents where there are three sections or more.
  [[nodiscard]] Html render() const;

 private:
  Html links_, body_;
  int sections_ = 0;
};

/// A text whose commands stand between backticks: they are shown as such.
Html with_code(std::string_view text);

/// Begins what is printed on separate pages; not shown on a screen.
Html annex(std::string_view title);

/// A key figure.
struct Card {
  std::string label;
  std::string value;
  std::string note;
  Tone tone = Tone::kPlain;
};
Html cards(std::span<const Card> cards);

/// A small word with a coloured dot: levels, verdicts, qualities.
Html badge(std::string_view text, Tone tone);

/// Table whose cells are markup. The first column of a row is its header.
class HtmlTable {
 public:
  /// Column::max_width is ignored: HTML wraps.
  explicit HtmlTable(std::vector<Column> columns);
  void add_row(std::vector<Html> cells);
  void add_text_row(const std::vector<std::string>& cells);
  /// Set apart by a rule above, in bold.
  void add_total_row(std::vector<Html> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// @param caption  for readers who cannot see the section around it.
  [[nodiscard]] Html render(std::string_view caption) const;

 private:
  struct Row {
    std::vector<Html> cells;
    bool total = false;
  };
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

/// Label and value, one below the other.
Html definitions(std::span<const std::pair<std::string, Html>> entries);
/// Preformatted text, such as commands; long lines wrap on the page and stay one line when copied.
Html code_block(std::string_view text);
Html bullet_list(std::span<const std::string> lines);
Html numbered_list(std::span<const std::string> lines);
/// Opened by the reader, always open on paper.
Html disclosure(const Html& summary, const Html& body);

}  // namespace stint
