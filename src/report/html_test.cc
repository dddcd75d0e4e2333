#include "report/html.h"

#include <gmock/gmock.h>

#include "report/bar_rows.h"
#include "report/svg.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Html, TextIsEscapedInContentAndAttributes) {
  EXPECT_EQ(Html::text("<b>&\"'").str(), "&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(element("p", {{"title", "\"><script>"}}, Html::text("a\x1b")).str(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">a\uFFFD</p>");
}

TEST(Html, CommandsInATextAreShownAsSuch) {
  EXPECT_EQ(with_code("take `stint <x>`, or `a`.").str(), "take <code>stint &lt;x&gt;</code>, or <code>a</code>.");
  EXPECT_EQ(with_code("`a` and a lone `").str(), "<code>a</code> and a lone `");
  EXPECT_EQ(bullet_list(std::vector<std::string>{"say `b`"}).str(), "<ul><li>say <code>b</code></li></ul>");
}

TEST(Html, AnEmptyAttributeIsLeftOut) { EXPECT_EQ(element("p", {{"class", ""}}, Html()).str(), "<p></p>"); }

TEST(HtmlPage, IsOneWholeDocumentWithoutOutsideReferences) {
  const std::string page = html_page({"Title & more", "kind", "when", "end"}, Html::text("body"));
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_THAT(page, HasSubstr("<title>Title &amp; more</title>"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(page, HasSubstr("@page{size:A4"));
  for (const char* outside : {"<script", "<link", "url(", "@import", "http:", "https:"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(PageSections, ContentsLeadToEverySectionThatSaysSomething) {
  PageSections page;
  page.add("a", "First", section("a", "The first", "", Html::text("x")));
  page.add("b", "Second", section("b", "The second", "", Html::text("y")));
  EXPECT_THAT(page.render().str(), Not(HasSubstr("<nav")));  // too few to need them
  page.add("gone", "Nothing", Html());
  page.add("c", "A < B", section("c", "The third", "", Html::text("z")));
  const std::string html = page.render().str();
  EXPECT_TRUE(html.starts_with("<nav"));
  EXPECT_THAT(html, HasSubstr("<a href=\"#c\">A &lt; B</a></nav><section id=\"a\">"));
  EXPECT_THAT(html, Not(HasSubstr("#gone")));
}

TEST(HtmlTable, RowsHaveAHeaderAndFiguresStandRight) {
  HtmlTable table({{"who"}, {"USD", Align::kRight}});
  table.add_text_row({"a<b", "1"});
  table.add_total_row({Html::text("all"), Html::text("1")});
  const std::string out = table.render("caption").str();
  EXPECT_THAT(out, HasSubstr("<th scope=\"row\">a&lt;b</th><td class=\"r\">1</td>"));
  EXPECT_THAT(out, HasSubstr("<tr class=\"total\">"));
}

TEST(CodeBlock, KeepsLines) { EXPECT_EQ(code_block("a && b\nc").str(), "<pre>a &amp;&amp; b\nc</pre>"); }

TEST(BarRows, PartsLieInThousandthsOfTheWidth) {
  const std::vector<BarRow> rows = {{"x <y>", {{0.25, 0.75, "s1", "tip", 0.5}}, "50"}};
  EXPECT_THAT(
      bar_rows(rows, "t").str(),
      HasSubstr("<rect x=\"250\" width=\"500\" height=\"1\" class=\"s1\" fill-opacity=\"0.50\"><title>tip</title></rect>"));
  EXPECT_THAT(bar_rows(rows, "t").str(), HasSubstr("x &lt;y&gt;"));
}

TEST(BarRows, TheSmallestPartIsStillSeen) {
  const std::vector<BarRow> rows = {{"x", {{0.5, 0.5, "s1", ""}}, ""}};
  EXPECT_THAT(bar_rows(rows, "t").str(), HasSubstr("x=\"500\" width=\"1\""));
}

TEST(Svg, EscapesItsTexts) {
  Svg svg(10, 20, "a \"drawing\"");
  svg.text(1, 2.25, "<&>");
  svg.circle(1, 2, 3, "point", "tip <");
  const std::string out = svg.render().str();
  EXPECT_THAT(out, HasSubstr("aria-label=\"a &quot;drawing&quot;\""));
  EXPECT_THAT(out, HasSubstr(">&lt;&amp;&gt;</text>"));
  EXPECT_THAT(out, HasSubstr("<title>tip &lt;</title>"));
}

}  // namespace
}  // namespace stint
