#include "report/table.h"

#include <algorithm>

#include "base/check.h"
#include "report/utf8.h"

namespace stint {
namespace {

constexpr std::string_view kGap = "  ";

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::kPlain: return "";
    case Tone::kStrong: return "\x1b[1m";
    case Tone::kMuted: return "\x1b[2m";
    case Tone::kGood: return "\x1b[32m";
    case Tone::kWarn: return "\x1b[33m";
    case Tone::kBad: return "\x1b[31m";
  }
  return "";
}

void trim_right(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

std::string toned(std::string_view text, Tone tone, Colour colour) {
  if (colour == Colour::kNo || tone == Tone::kPlain || text.empty()) return std::string(text);
  return std::string(escape_of(tone)) + std::string(text) + "\x1b[0m";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) { CHECK(!columns_.empty(), "a table without columns"); }

void Table::add_row(std::vector<std::string> cells, Tone tone) {
  CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(), columns_.size());
  for (size_t i = 0; i < cells.size(); ++i)
    cells[i] = cut_to_width(printable(cells[i]), columns_[i].max_width);
  rows_.push_back({std::move(cells), std::vector<Tone>(columns_.size(), tone), rule_pending_});
  rule_pending_ = false;
}

void Table::tone_cell(size_t column, Tone tone) {
  CHECK(!rows_.empty() && column < columns_.size(), "no such cell: column {}", column);
  rows_.back().tones[column] = tone;
}

void Table::add_rule() { rule_pending_ = true; }

std::string Table::render(Colour colour, size_t indent) const {
  std::vector<size_t> widths;
  for (const Column& c : columns_)
    widths.push_back(display_width(c.heading));
  for (const Row& row : rows_)
    for (size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row.cells[i]));

  const std::string margin(indent, ' ');
  std::string out;
  const auto line = [&](const auto& text_of, const auto& tone_of) {
    std::string cells = margin;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& text = text_of(i);
      const std::string pad(widths[i] - display_width(text), ' ');
      if (i > 0) cells += kGap;
      if (columns_[i].align == Align::kRight) cells += pad;
      cells += toned(text, tone_of(i), colour);
      if (columns_[i].align == Align::kLeft) cells += pad;
    }
    trim_right(cells);
    out += cells + '\n';
  };
  std::string rule = margin;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (i > 0) rule += kGap;
    for (size_t k = 0; k < widths[i]; ++k)
      rule += "─";
  }
  rule += '\n';

  line([&](size_t i) -> const std::string& { return columns_[i].heading; }, [](size_t) { return Tone::kStrong; });
  out += rule;
  for (const Row& row : rows_) {
    if (row.rule_before) out += rule;
    line([&](size_t i) -> const std::string& { return row.cells[i]; }, [&](size_t i) { return row.tones[i]; });
  }
  return out;
}

std::string wrapped(std::string_view text, size_t width, size_t indent) {
  const std::string clean = printable(text);
  const std::string margin(indent, ' ');
  std::string out;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) out += margin + line + '\n';
    line.clear();
  };
  for (size_t at = 0; at < clean.size();) {
    const size_t end = std::min(clean.find(' ', at), clean.size());
    const std::string_view word = std::string_view(clean).substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!line.empty() && indent + display_width(line) + 1 + display_width(word) > width) flush();
    if (!line.empty()) line += ' ';
    line += word;
  }
  flush();
  return out;
}

}  // namespace stint
