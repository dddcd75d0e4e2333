#include "report/table.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "report/utf8.h"

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

TEST(Table, IndentsAndIsAsWideAsNeededWithoutAScreen) {
  Table table({{"n", Align::kLeft, 4}});
  table.add_row({"abcdefgh"});
  EXPECT_EQ(table.render(Colour::kNo, 2), "  n\n  ────────\n  abcdefgh\n");
}

TEST(Table, BreaksLongTextsRatherThanLeavingOutColumns) {
  Table table({{"id"}, {"what"}, {"USD", Align::kRight}});
  table.add_row({"a1", "stop the nodes that idle at night", "1,200"});
  table.add_row({"a2", "buy", "7"});
  // 2 + 2 + 33 + 2 + 5 = 44 columns are too many for 36: the text gets 25.
  EXPECT_EQ(table.render({Colour::kNo, 36}),
            "id  what                         USD\n"
            "──  ─────────────────────────  ─────\n"
            "a1  stop the nodes that idle   1,200\n"
            "    at night\n"
            "a2  buy                            7\n");
}

TEST(Table, LeavesOutWhatCanBeSparedMostAndSaysSo) {
  Table table({{"node"}, {"zone", Align::kLeft, 0, 2}, {"GPUs", Align::kRight, 0, 1}, {"USD", Align::kRight}});
  table.add_row({"gpu-01", "eu-west", "8", "1,000,000"});
  // 6 + 2 + 7 + 2 + 4 + 2 + 9 = 32.
  EXPECT_EQ(table.render({Colour::kNo, 32}).find("left out"), std::string::npos);
  EXPECT_EQ(table.render({Colour::kNo, 31}),
            "node    GPUs        USD\n"
            "──────  ────  ─────────\n"
            "gpu-01     8  1,000,000\n"
            "1 column left out (zone):\n--wide shows all\n");
}

TEST(Table, RatherLeavesOutAColumnThanBreaksATextNarrowerThanAsked) {
  const auto drawn = [](size_t least) {
    Table table({{"id"}, {.heading = "what", .least = least}, {.heading = "effort", .spare = 1}});
    table.add_row({"F-1", "switch it off at night", "low"});
    return table.render({Colour::kNo, 30});
  };
  // 30 less id, effort and two gaps are 17.
  EXPECT_THAT(drawn(0), ::testing::HasSubstr("F-1  switch it off at   low\n     night\n"));
  EXPECT_THAT(drawn(20), ::testing::HasSubstr("F-1  switch it off at night\n1 column left out (effort)"));
}

TEST(Table, RatherLeavesOutAColumnThanBreaksAName) {
  Table table({{"rule"}, {"what"}, {"over", Align::kRight, 0, 1}});
  table.add_row({"GpuTemperatureCritical", "mean of temperature", "12 months"});
  EXPECT_EQ(table.render({Colour::kNo, 50}),
            "rule                    what\n"
            "──────────────────────  ───────────────────\n"
            "GpuTemperatureCritical  mean of temperature\n"
            "1 column left out (over): --wide shows all\n");
}

TEST(Table, BreaksLongHeadingsOverFigures) {
  Table table({{"policy"}, {"rest on spot", Align::kRight}});
  table.add_row({"optimal", "0.61"});
  EXPECT_EQ(table.render({Colour::kNo, 16}),
            "         rest on\n"
            "policy      spot\n"
            "───────  ───────\n"
            "optimal     0.61\n");
}

TEST(Table, OfAlikeColumnsTheLastGoesFirstAndTheFirstStays) {
  Table table({{"a", Align::kRight}, {"b", Align::kRight}, {"c", Align::kRight}});
  table.add_row({"123456789", "123456789", "123456789"});
  EXPECT_EQ(table.render({Colour::kNo, 24}).substr(0, 21), "        a          b\n");
  EXPECT_EQ(table.render({Colour::kNo, 16}).substr(0, 10), "        a\n");
}

TEST(Table, NoLineIsWiderThanTheScreen) {
  Table table(
      {{"workload"}, {"what", Align::kLeft, 30}, {"kind"}, {"USD a month", Align::kRight}, {"per GPU-hour", Align::kRight}});
  table.add_row(
      {"namespaces/research-vision/pods/trainer-7f9c6d-0", "an explanation of some length that says what to do", "x", "1", "2"});
  table.add_row({"東京東京東京東京東京東京東京東京東京東京東京東京", "y", "y", "1", "2"});
  for (size_t width = 40; width < 140; ++width) {
    const std::string text = table.render({Colour::kNo, width}, 2);
    for (const std::string_view line : split(text, '\n'))
      EXPECT_LE(display_width(line), width) << line;
  }
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

TEST(Broken, BreaksNamesAfterTheMarksThatPartThem) {
  EXPECT_EQ(broken("research/trainer-7f9c", 12), (std::vector<std::string>{"research/", "trainer-7f9c"}));
  EXPECT_EQ(broken("abcdefgh", 3), (std::vector<std::string>{"abc", "def", "gh"}));
  EXPECT_EQ(broken("a b", 0), (std::vector<std::string>{"a b"}));
}

TEST(Fitted, GoesOnTwoColumnsFurtherIn) {
  EXPECT_EQ(fitted("  one two three\nshort\n", {Colour::kNo, 10}), "  one two\n    three\nshort\n");
  EXPECT_EQ(fitted("one two", {Colour::kNo, 0}), "one two");
  EXPECT_EQ(fitted("# one two", {Colour::kNo, 6}), "# one\n#   two");
}

TEST(Fitted, CountsNoColours) {
  EXPECT_EQ(fitted("\x1b[1mone two\x1b[0m\n", {Colour::kYes, 7}), "\x1b[1mone two\x1b[0m\n");
  EXPECT_EQ(fitted("averylongword that", {Colour::kNo, 8}), "averylongword\n  that");
}

TEST(FittedCommand, GoesOnAfterABackslashAndKeepsQuotesTogether) {
  EXPECT_EQ(fitted_command("  stint run --name 'a b c d' --gpus 1", 22),
            "  stint run --name \\\n"
            "    'a b c d' --gpus 1");
  EXPECT_EQ(fitted_command("short", 22), "short");
}

TEST(FittedCommands, LeavesConfigurationAsItIs) {
  EXPECT_EQ(fitted_commands("# a comment of words\naws ec2 stop --id i-1\n  key: a long value\n", {Colour::kNo, 14}),
            "# a comment of\n#   words\naws ec2 stop \\\n  --id i-1\n  key: a long value\n");
}

}  // namespace
}  // namespace stint
