#include "codec/changes/change_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ChangeFile, TextIsOneColumnALine) {
  const auto lists = read_changes("# tried in May\n\nstop:a, b\r\nstop:a; switch-market:b=spot\n", "f");
  ASSERT_TRUE(lists.ok()) << lists.error().message;
  ASSERT_EQ(lists->size(), 2U);
  EXPECT_EQ((*lists)[0].name, "stop:a, b");
  EXPECT_EQ(std::get<StopNodes>((*lists)[0].changes.at(0)).nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(std::get<SwitchMarket>((*lists)[1].changes.at(1)).to, Market::kSpot);
}

TEST(ChangeFile, TextErrorsNameTheLine) {
  EXPECT_THAT(read_changes("stop:a\n\nstop\n", "plan.txt").error().message, HasSubstr("plan.txt:3: "));
  EXPECT_THAT(read_changes("# nothing\n", "plan.txt").error().message, HasSubstr("plan.txt: no change in it"));
}

TEST(ChangeFile, AFindingsTitleNamesItsColumn) {
  const auto lists = read_changes(R"({"currency": "USD", "findings": [
      {"title": "Stop a", "change": {"kind": "stop", "description": "stop a", "nodes": ["a"]}},
      {"title": "Nights", "change": {"kind": "schedule-off", "nodes": ["b"], "off_hours_of_week": [0, 167]}}]})",
                                  "f");
  ASSERT_TRUE(lists.ok()) << lists.error().message;
  ASSERT_EQ(lists->size(), 2U);
  EXPECT_EQ((*lists)[0].name, "Stop a");
  const WeekHours off = std::get<ScheduleOff>((*lists)[1].changes.at(0)).off;
  EXPECT_EQ(off.count(), 2U);
  EXPECT_TRUE(off.test(0) && off.test(167));
}

TEST(ChangeFile, AnArrayInsideTheArrayIsOneColumn) {
  const auto lists = read_changes(R"([[{"kind": "stop", "nodes": ["a"]}, {"kind": "stop", "nodes": ["b"]}],
                                      {"kind": "stop", "nodes": ["c"]}])",
                                  "f");
  ASSERT_TRUE(lists.ok()) << lists.error().message;
  ASSERT_EQ(lists->size(), 2U);
  EXPECT_EQ((*lists)[0].changes.size(), 2U);
  EXPECT_EQ((*lists)[1].name, "stop c");
  EXPECT_EQ(read_changes(R"({"kind": "stop", "nodes": ["c"]})", "f")->size(), 1U);
}

TEST(ChangeFile, JsonErrorsNameTheLineOfTheChange) {
  const std::string two_lines = "[{\"kind\": \"stop\", \"nodes\": [\"a\"]},\n {\"kind\": ";
  const auto wrong = [&](const std::string& rest) { return read_changes(two_lines + rest, "p.json").error().message; };
  EXPECT_EQ(wrong(R"("halt", "nodes": ["b"]}])"), "p.json:2: no kind of change is called 'halt'");
  EXPECT_EQ(wrong(R"("stop"}])"), "p.json:2: 'nodes' is missing");
  EXPECT_EQ(wrong(R"("stop", "nodes": "b"}])"), "p.json:2: 'nodes' is no array");
  EXPECT_EQ(wrong(R"("schedule-off", "nodes": ["b"], "off_hours_of_week": [168]}])"),
            "p.json:2: 'off_hours_of_week' holds something that is no integer from 0 to 167");
  EXPECT_EQ(wrong(R"("resize", "nodes": ["b"], "to_instance_type": "x", "to_count": 0}])"),
            "p.json:2: 'to_count' is no integer from 1 to 100000");
  EXPECT_THAT(wrong(R"("stop" "nodes"}])"), HasSubstr("p.json: not valid JSON: line 2, column "));
  EXPECT_THAT(wrong(R"("stop" "nodes"}])"), Not(HasSubstr("json.exception"))) << "the library's own tag";
  EXPECT_THAT(wrong(""), HasSubstr("p.json: not valid JSON: line 2, column "));
  for (const char* text : {"[]", "[[]]", "[1]", "{}", "[{}]", R"({"findings": 3})", R"([{"change": 7}])"})
    EXPECT_FALSE(read_changes(text, "f").ok()) << text;
}

}  // namespace
}  // namespace stint
