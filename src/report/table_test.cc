#include "report/table.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(Table, AlignsByDisplayWidth) {
  Table table({{"name"}, {"USD", Align::kRight}});
  table.add_row({"Blåbær", "1,200"});
  table.add_row({"東京", "7"});
  table.add_rule();
  table.add_row({"all", "1,207"});
  EXPECT_EQ(table.render(Colour::kNo),
            "name      USD\n"
            "──────  ─────\n"
            "Blåbær  1,200\n"
            "東京        7\n"
            "──────  ─────\n"
            "all     1,207\n");
}

TEST(Table, CutsLongCellsAndIndents) {
  Table table({{"n", Align::kLeft, 4}});
  table.add_row({"abcdefgh"});
  EXPECT_EQ(table.render(Colour::kNo, 2), "  n\n  ────\n  abc…\n");
}

TEST(Table, ColourChangesNoWidthAndIsAbsentWithoutIt) {
  Table table({{"a"}, {"b"}});
  table.add_row({"x", "y"});
  table.tone_cell(1, Tone::kBad);
  EXPECT_EQ(table.render(Colour::kNo).find('\x1b'), std::string::npos);
  EXPECT_NE(table.render(Colour::kYes).find("\x1b[31my\x1b[0m"), std::string::npos);
}

TEST(Table, NamesCannotColourTheTerminal) {
  Table table({{"a"}});
  table.add_row({"\x1b[2Jgone"});
  EXPECT_EQ(table.render(Colour::kNo), "a\n────────\n\uFFFD[2Jgone\n");
}

TEST(Wrapped, BreaksAtBlanksAndKeepsLongWords) {
  EXPECT_EQ(wrapped("one two three", 8, 2), "  one\n  two\n  three\n");
  EXPECT_EQ(wrapped("a longestword b", 6), "a\nlongestword\nb\n");
  EXPECT_EQ(wrapped("", 10), "");
}

}  // namespace
}  // namespace stint
