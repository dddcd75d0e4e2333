#include "report/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/counted.h"
#include "base/text.h"
#include "base/utf8.h"
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

constexpr size_t kLeastRoom = 16;
constexpr size_t kLeastText = 16;
constexpr size_t kLongestWord = 24;  // names up to here stay whole
constexpr size_t kReadingWidth = 100;

/// How many bytes of a word that is wider than a line go into it: up to a mark that parts names, if one is in its second half.
size_t break_within(std::string_view word, size_t width) {
  size_t used = 0;
  size_t at = 0;
  size_t mark = 0;
  while (at < word.size()) {
    const size_t bytes = decode_utf8(word, at).bytes;
    used += display_width(word.substr(at, bytes));
    if (used > width && at > 0) break;
    at += bytes;
    if (used * 2 >= width && std::string_view("/-_.,:=@").find(word[at - 1]) != std::string_view::npos) mark = at;
  }
  return mark > 0 ? mark : at;
}

/// Bytes of the escape sequence that begins at `at`; 0 = none does.
size_t escape_bytes(std::string_view text, size_t at) {
  if (text[at] != '\x1b' || at + 1 >= text.size() || text[at + 1] != '[') return 0;
  const size_t end = text.find_first_not_of("0123456789;", at + 2);
  return end == std::string_view::npos ? text.size() - at : end + 1 - at;
}

size_t visible_width(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t escape = escape_bytes(text, at);
    const size_t bytes = escape > 0 ? escape : decode_utf8(text, at).bytes;
    if (escape == 0) width += display_width(text.substr(at, bytes));
    at += bytes;
  }
  return width;
}

/// The last blank after `begin` before which the text is no wider than `width`; if there is none, the first one; else npos.
size_t last_blank_within(std::string_view text, size_t begin, size_t width) {
  size_t found = std::string_view::npos;
  size_t used = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t escape = escape_bytes(text, at);
    const size_t bytes = escape > 0 ? escape : decode_utf8(text, at).bytes;
    if (text[at] == ' ' && at > begin && text[at - 1] != ' ') {
      if (used > width && found != std::string_view::npos) return found;
      found = at;
      if (used > width) return found;
    }
    if (escape == 0) used += display_width(text.substr(at, bytes));
    at += bytes;
  }
  return found;
}

/// End of the word of shell that begins at `at`: the next blank outside quotes.
size_t end_of_shell_word(std::string_view line, size_t at) {
  char quote = 0;
  for (; at < line.size() && (quote != 0 || line[at] != ' '); ++at) {
    if (quote == 0 && (line[at] == '\'' || line[at] == '"'))
      quote = line[at];
    else if (line[at] == quote)
      quote = 0;
  }
  return at;
}

void trim_right(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

std::string toned(std::string_view text, Tone tone, Screen screen) {
  if (screen.colour == Colour::kNo || tone == Tone::kPlain || text.empty()) return std::string(text);
  return std::string(escape_of(tone)) + std::string(text) + "\x1b[0m";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) { CHECK(!columns_.empty(), "a table without columns"); }

void Table::add_row(std::vector<std::string> cells, Tone tone) {
  CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(), columns_.size());
  for (size_t i = 0; i < cells.size(); ++i)
    cells[i] = printable(cells[i]);
  rows_.push_back({std::move(cells), std::vector<Tone>(columns_.size(), tone), rule_pending_});
  rule_pending_ = false;
}

void Table::tone_cell(size_t column, Tone tone) {
  CHECK(!rows_.empty() && column < columns_.size(), "no such cell: column {}", column);
  rows_.back().tones[column] = tone;
}

void Table::add_rule() { rule_pending_ = true; }

Table::Layout Table::natural_layout(bool limited) const {
  Layout layout;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = 0;
    for (const Row& row : rows_)
      width = std::max(width, display_width(row.cells[i]));
    if (limited && columns_[i].max_width > 0) width = std::min(width, columns_[i].max_width);
    layout.columns.push_back(i);
    layout.widths.push_back(std::max(width, display_width(columns_[i].heading)));
  }
  return layout;
}

/// Figures and names stay on one line; a text can be broken as long as lines of a few words are left, a heading at its blanks.
size_t Table::least_width(size_t column, size_t natural) const {
  const bool text = columns_[column].align == Align::kLeft;
  size_t least = text ? std::max(kLeastText, columns_[column].least) : 0;
  for (const Row& row : rows_) {
    if (!text) least = std::max(least, display_width(row.cells[column]));
    for (const std::string_view word : split(std::string_view(row.cells[column]), ' '))
      if (text) least = std::max(least, std::min(display_width(word), kLongestWord));
  }
  for (const std::string_view word : split(std::string_view(columns_[column].heading), ' '))
    least = std::max(least, display_width(word));
  return std::min(natural, least);
}

Table::Layout Table::fitted_layout(size_t width) const {
  Layout layout = natural_layout(true);
  const auto total = [](const std::vector<size_t>& widths) {
    return std::accumulate(widths.begin(), widths.end(), (widths.size() - 1) * kGap.size());
  };
  const auto least = [&] {
    std::vector<size_t> widths;
    for (size_t k = 0; k < layout.columns.size(); ++k)
      widths.push_back(least_width(layout.columns[k], layout.widths[k]));
    return widths;
  };
  while (layout.columns.size() > 1 && total(least()) > width) {
    size_t spared = 1;
    for (size_t k = 2; k < layout.columns.size(); ++k)
      if (columns_[layout.columns[k]].spare >= columns_[layout.columns[spared]].spare) spared = k;
    layout.columns.erase(layout.columns.begin() + static_cast<std::ptrdiff_t>(spared));
    layout.widths.erase(layout.widths.begin() + static_cast<std::ptrdiff_t>(spared));
  }
  // What is too wide is taken off the widest text, again and again, so that short ones stay whole.
  const std::vector<size_t> floor = least();
  for (size_t sum = total(layout.widths); sum > width; --sum) {
    size_t widest = layout.widths.size();
    for (size_t k = 0; k < layout.widths.size(); ++k)
      if (layout.widths[k] > floor[k] && (widest == layout.widths.size() || layout.widths[k] > layout.widths[widest])) widest = k;
    if (widest == layout.widths.size()) break;
    --layout.widths[widest];
  }
  if (layout.columns.size() == 1) layout.widths[0] = std::min(layout.widths[0], width);
  return layout;
}

std::string Table::render(Screen screen, size_t indent) const {
  const bool limited = screen.width > 0;
  const size_t room = screen.width > indent + kLeastRoom ? screen.width - indent : kLeastRoom;
  const Layout layout = limited ? fitted_layout(room) : natural_layout(false);

  const std::string margin(indent, ' ');
  std::string out;
  const auto line = [&](const auto& text_of, const auto& tone_of, bool at_the_bottom = false) {
    std::vector<std::vector<std::string>> cells;
    size_t lines = 1;
    for (size_t k = 0; k < layout.columns.size(); ++k) {
      cells.push_back(broken(text_of(layout.columns[k]), layout.widths[k]));
      lines = std::max(lines, cells.back().size());
    }
    for (size_t n = 0; n < lines; ++n) {
      std::string shown = margin;
      for (size_t k = 0; k < layout.columns.size(); ++k) {
        const size_t above = at_the_bottom ? lines - cells[k].size() : 0;
        const std::string text = n >= above && n - above < cells[k].size() ? cells[k][n - above] : "";
        const std::string pad(layout.widths[k] - std::min(layout.widths[k], display_width(text)), ' ');
        const Align align = columns_[layout.columns[k]].align;
        if (k > 0) shown += kGap;
        if (align == Align::kRight) shown += pad;
        shown += toned(text, tone_of(layout.columns[k]), screen);
        if (align == Align::kLeft) shown += pad;
      }
      trim_right(shown);
      out += shown + '\n';
    }
  };
  std::string rule = margin;
  for (size_t k = 0; k < layout.widths.size(); ++k) {
    if (k > 0) rule += kGap;
    for (size_t n = 0; n < layout.widths[k]; ++n)
      rule += "─";
  }
  rule += '\n';

  line([&](size_t i) -> const std::string& { return columns_[i].heading; }, [](size_t) { return Tone::kStrong; }, true);
  out += rule;
  for (const Row& row : rows_) {
    if (row.rule_before) out += rule;
    line([&](size_t i) -> const std::string& { return row.cells[i]; }, [&](size_t i) { return row.tones[i]; });
  }
  return out + left_out_line(layout.columns, screen, indent);
}

std::string Table::left_out_line(const std::vector<size_t>& shown, Screen screen, size_t indent) const {
  std::string names;
  size_t count = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (std::ranges::find(shown, i) != shown.end()) continue;
    ++count;
    if (!columns_[i].heading.empty()) names += (names.empty() ? "" : ", ") + columns_[i].heading;
  }
  if (count == 0) return "";
  const std::string text =
      fmt::format("{} left out{}: --wide shows all", counted(count, "column"), names.empty() ? "" : " (" + names + ")");
  std::string out;
  for (const std::string& line : broken(text, screen.width - std::min(screen.width, indent)))
    out += std::string(indent, ' ') + toned(line, Tone::kMuted, screen) + '\n';
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

std::string wrapped(std::string_view text, Screen screen, size_t indent) {
  return wrapped(text, screen.width == 0 ? kReadingWidth : std::min(screen.width, kReadingWidth), indent);
}

std::string bullets(const std::vector<std::string>& lines, Screen screen) {
  std::string out;
  for (const std::string& line : lines) {
    std::string text = wrapped(line, screen, 4);
    if (text.size() > 2) text[2] = '-';
    out += text;
  }
  return out;
}

std::string heading(std::string_view text, Screen screen) { return fmt::format("\n{}\n", toned(text, Tone::kStrong, screen)); }

std::string fitted(std::string_view text, Screen screen) {
  if (screen.width == 0) return std::string(text);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    std::string margin;
    while (visible_width(line) + margin.size() > screen.width) {
      const size_t begin = std::min(line.find_first_not_of(' '), line.size());
      const size_t cut = last_blank_within(line, begin, screen.width - std::min(screen.width, margin.size()));
      if (cut == std::string_view::npos) break;
      out += margin;
      out += line.substr(0, line.find_last_not_of(' ', cut) + 1);
      out += '\n';
      if (margin.empty()) margin = line.starts_with('#') ? "#   " : std::string(std::min(begin + 2, screen.width / 2), ' ');
      line.remove_prefix(std::min(line.find_first_not_of(' ', cut), line.size()));
    }
    out += margin;
    out += line;
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

std::string fitted_command(std::string_view line, size_t width) {
  if (width == 0 || display_width(line) <= width) return std::string(line);
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  std::string out(line.substr(0, begin));
  size_t used = begin;
  for (size_t at = begin; at < line.size();) {
    const size_t end = end_of_shell_word(line, at);
    const std::string_view word = line.substr(at, end - at);
    const size_t backslash = end < line.size() ? 2 : 0;
    if (at > begin && used + 1 + display_width(word) + backslash > width) {
      out += " \\\n" + std::string(begin + 2, ' ');
      used = begin + 2;
    } else if (at > begin) {
      out += ' ';
      ++used;
    }
    out += word;
    used += display_width(word);
    at = std::min(line.find_first_not_of(' ', end), line.size());
  }
  return out;
}

std::string fitted_commands(std::string_view text, Screen screen) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view words = trim(line);
    const bool shell = !words.empty() && words[0] >= 'a' && words[0] <= 'z' && words.find(" -") != std::string_view::npos;
    out += shell ? fitted_command(line, screen.width) : words.starts_with('#') ? fitted(line, screen) : std::string(line);
    out += '\n';
  }
  if (!text.empty()) out.pop_back();
  return text.empty() ? "" : out;
}

std::vector<std::string> broken(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  if (width == 0 || display_width(text) <= width) return {std::string(text)};
  std::string line;
  for (std::string_view word : split(text, ' ')) {
    const size_t used = display_width(line);
    if (!line.empty() && used + 1 + display_width(word) > width) {
      lines.push_back(std::exchange(line, {}));
    } else if (!line.empty()) {
      line += ' ';
    }
    while (display_width(line) + display_width(word) > width) {
      const size_t bytes = break_within(word, width);
      lines.emplace_back(word.substr(0, bytes));
      word.remove_prefix(bytes);
    }
    line += word;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace stint
