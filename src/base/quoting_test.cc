#include "base/quoting.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(ShellQuoted, LeavesPlainWordsAndQuotesTheRest) {
  EXPECT_EQ(shell_quoted("i-0abc/x:1,2=3@4+5.6_7"), "i-0abc/x:1,2=3@4+5.6_7");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("g5.xlarge;touch x"), "'g5.xlarge;touch x'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted("a\nb\x7f\x1b[31m"), "'a b  [31m'");
  EXPECT_EQ(shell_quoted("größe"), "'größe'") << "letters are no control characters";
  EXPECT_EQ(shell_operand("-oProxyCommand=x"), "-- -oProxyCommand=x");
}

TEST(CrontabCommand, EndsNotAtAPercentSign) { EXPECT_EQ(crontab_command("date +%F\n"), "date +\\%F "); }

// cron takes the first backslash of `\\` and of `\%` away.
TEST(CrontabCommand, BackslashesComeThrough) {
  EXPECT_EQ(crontab_command(R"(echo 'it'\''s')"), R"(echo 'it'\''s')");
  EXPECT_EQ(crontab_command(R"(a\%b)"), R"(a\\\%b)");
  EXPECT_EQ(crontab_command(R"(a\\b\)"), R"(a\\\\b\)");
  EXPECT_EQ(crontab_command(R"(a\\)"), R"(a\\\\)");
}

TEST(JsonQuoted, IsJsonAndYaml) {
  EXPECT_EQ(json_quoted("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(json_quoted("a\nb\x7f"), R"("a\u000ab\u007f")");
  EXPECT_EQ(json_quoted("\xc2\x9b"), R"("\u009b")") << "one of the C1 controls, which begins an escape of terminals";
  EXPECT_EQ(json_quoted("\xff"
                        "x"),
            R"("\ufffdx")");
  EXPECT_EQ(json_quoted("größe 😀"), "\"größe 😀\"");
}

TEST(HclQuoted, BeginsNoTemplate) {
  EXPECT_EQ(hcl_quoted("${file(\"x\")}"), R"("$${file(\"x\")}")");
  EXPECT_EQ(hcl_quoted("%{if}"), "\"%%{if}\"");
  // Of three signs Terraform reads the last two as the escape.
  EXPECT_EQ(hcl_quoted("$${x}"), "\"$$${x}\"");
}

TEST(SqlQuoted, DoublesWhatWouldEndIt) {
  EXPECT_EQ(sql_quoted("it's; DROP"), "'it''s; DROP'");
  EXPECT_EQ(sql_name("a\"b"), "\"a\"\"b\"");
}

TEST(OneLine, HasNoLineEnd) { EXPECT_EQ(one_line("a\r\nb\x1b\xc2\x9b\xff ü"), "a  b    ü"); }

}  // namespace
}  // namespace stint
