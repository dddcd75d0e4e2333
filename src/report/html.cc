#include "report/html.h"

#include "base/check.h"

#include "report/page_style.h"
#include "report/utf8.h"

namespace stint {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string_view class_of(Tone tone) {
  switch (tone) {
    case Tone::kPlain: return "";
    case Tone::kStrong: return "strong";
    case Tone::kMuted: return "muted";
    case Tone::kGood: return "good";
    case Tone::kWarn: return "warn";
    case Tone::kBad: return "bad";
  }
  return "";
}

Html list_of(std::string_view tag, std::span<const std::string> lines) {
  Html items;
  for (const std::string& line : lines)
    items += element("li", with_code(line));
  return element(tag, items);
}

}  // namespace

Html Html::text(std::string_view text) { return markup(escaped(printable(text))); }

Html Html::markup(std::string markup) {
  Html out;
  out.markup_ = std::move(markup);
  return out;
}

Html element(std::string_view tag, std::initializer_list<Attribute> attributes, const Html& content) {
  std::string out = fmt::format("<{}", tag);
  for (const auto& [name, value] : attributes)
    if (!value.empty()) out += fmt::format(" {}=\"{}\"", name, escaped(printable(value)));
  return Html::markup(out + '>' + content.str() + fmt::format("</{}>", tag));
}

Html element(std::string_view tag, const Html& content) { return element(tag, {}, content); }
Html element(std::string_view tag, std::string_view text) { return element(tag, {}, Html::text(text)); }

std::string html_page(const PageText& text, const Html& body) {
  const Html head = Html::markup(
                        "<meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                        "<meta name=\"generator\" content=\"stint\">") +
                    element("title", text.title) + Html::markup(fmt::format("<style>{}</style>", page_style()));
  const Html header = element("p", {{"class", "kicker"}}, Html::text(text.kicker)) + element("h1", text.title) +
                      element("p", {{"class", "subtitle"}}, Html::text(text.subtitle));
  const Html main = element("header", header) + body + element("footer", text.footer);
  return "<!doctype html>\n" +
         element("html", {{"lang", "en"}}, element("head", head) + element("body", element("main", main))).str() + "\n";
}

Html section(std::string_view id, std::string_view title, std::string_view lead, const Html& body) {
  Html out = element("h2", title);
  if (!lead.empty()) out += element("p", {{"class", "lead"}}, with_code(lead));
  return element("section", {{"id", std::string(id)}}, out + body);
}

void PageSections::add(std::string_view id, std::string_view name, const Html& section) {
  if (section.empty()) return;
  ++sections_;
  links_ += element("a", {{"href", fmt::format("#{}", id)}}, Html::text(name));
  body_ += section;
}

Html PageSections::render() const {
  constexpr int kFewSections = 2;
  if (sections_ <= kFewSections) return body_;
  return element("nav", {{"class", "contents"}, {"aria-label", "Contents"}}, links_) + body_;
}

Html annex(std::string_view title) { return element("h2", {{"class", "annex"}}, Html::text(title)); }

Html cards(std::span<const Card> cards) {
  Html out;
  for (const Card& card : cards) {
    out += element("div", {{"class", "card"}},
                   element("div", {{"class", "label"}}, Html::text(card.label)) +
                       element("div", {{"class", fmt::format("value {}", class_of(card.tone))}}, Html::text(card.value)) +
                       element("div", {{"class", "note"}}, Html::text(card.note)));
  }
  return element("div", {{"class", "cards"}}, out);
}

Html badge(std::string_view text, Tone tone) {
  return element("span", {{"class", fmt::format("badge {}", class_of(tone))}}, element("b", text));
}

HtmlTable::HtmlTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

void HtmlTable::add_row(std::vector<Html> cells) {
  CHECK(cells.size() == columns_.size(), "{} cells for {} columns", cells.size(), columns_.size());
  rows_.push_back({std::move(cells), false});
}

void HtmlTable::add_text_row(const std::vector<std::string>& cells) {
  std::vector<Html> markup;
  for (const std::string& cell : cells)
    markup.push_back(Html::text(cell));
  add_row(std::move(markup));
}

void HtmlTable::add_total_row(std::vector<Html> cells) {
  add_row(std::move(cells));
  rows_.back().total = true;
}

Html HtmlTable::render(std::string_view caption) const {
  const auto side = [&](size_t column) { return std::string(columns_[column].align == Align::kRight ? "r" : ""); };
  Html head;
  for (size_t c = 0; c < columns_.size(); ++c)
    head += element("th", {{"scope", "col"}, {"class", side(c)}}, Html::text(columns_[c].heading));
  Html body;
  for (const Row& row : rows_) {
    Html cells = element("th", {{"scope", "row"}, {"class", side(0)}}, row.cells[0]);
    for (size_t c = 1; c < columns_.size(); ++c)
      cells += element("td", {{"class", side(c)}}, row.cells[c]);
    body += element("tr", {{"class", row.total ? "total" : ""}}, cells);
  }
  const Html table =
      element("table", {{"aria-label", std::string(caption)}}, element("thead", element("tr", head)) + element("tbody", body));
  return element("div", {{"class", "scroll"}}, table);
}

Html definitions(std::span<const std::pair<std::string, Html>> entries) {
  Html out;
  for (const auto& [label, value] : entries)
    out += element("dt", label) + element("dd", value);
  return element("dl", out);
}

Html with_code(std::string_view text) {
  Html out;
  while (true) {
    const size_t begin = text.find('`');
    const size_t end = begin == std::string_view::npos ? begin : text.find('`', begin + 1);
    if (end == std::string_view::npos) return out += Html::text(text);
    out += Html::text(text.substr(0, begin));
    out += element("code", Html::text(text.substr(begin + 1, end - begin - 1)));
    text.remove_prefix(end + 1);
  }
}

Html code_block(std::string_view text) { return element("pre", Html::markup(escaped(printable_lines(text)))); }
Html bullet_list(std::span<const std::string> lines) { return list_of("ul", lines); }
Html numbered_list(std::span<const std::string> lines) { return list_of("ol", lines); }

Html disclosure(const Html& summary, const Html& body) {
  return element("details", element("summary", summary) + element("div", {{"class", "inside"}}, body));
}

}  // namespace stint
