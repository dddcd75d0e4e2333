// The launch as values: its plan and reports over JSON, its rows, its bill, its first script.
#include <gmock/gmock.h>

#include "launch/launch_plan.h"
#include "launch/launch_record.h"
#include "launch/launch_script.h"
#include "launch/testing_launch.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

LaunchPlan plan_of_two_clouds() {
  LaunchPlan plan = whole_launch_plan();
  plan.offers.push_back({"Standard_ND96asr_v4", "", Market::kSpot, Rate::per_hour(Money::units(12)), "azure", "eastus"});
  return plan;
}

TEST(LaunchPlan, ComesBackAsItWasWritten) {
  const LaunchPlan plan = plan_of_two_clouds();
  const auto read = parse_launch_plan(to_json(plan), "launch.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, plan);
}

TEST(LaunchPlan, OneOfAReleaseBeforeSeveralCloudsIsOfAwsInItsRegion) {
  std::string json = to_json(plan_of_two_clouds());
  for (const std::string newer : {",\n      \"provider\": \"aws\"", ",\n      \"region\": \"\""})
    for (size_t at = json.find(newer); at != std::string::npos; at = json.find(newer))
      json.erase(at, newer.size());
  ASSERT_EQ(json.find("\"provider\": \"aws\""), std::string::npos);
  const auto plan = parse_launch_plan(json, "launch.json");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const CapacityRules rules = capacity_rules_of(*plan);
  EXPECT_EQ(rules.pools[0].machine.provider, "aws");
  EXPECT_EQ(rules.pools[0].machine.region, "us-east-1");
  EXPECT_EQ(rules.pools[3].name, "Standard_ND96asr_v4/eastus/spot");
  EXPECT_EQ(rules.pools[3].machine.provider, "azure");
  EXPECT_EQ(rules.pools[3].machine.region, "eastus");
}

TEST(LaunchPlan, AnErrorNamesFileAndLine) {
  std::string json = to_json(whole_launch_plan());
  json.replace(json.find("\"spot\""), 6, "\"owned\"");
  EXPECT_THAT(parse_launch_plan(json, "launch.json").error().message, AllOf(StartsWith("launch.json:"), HasSubstr("'market'")));
  EXPECT_THAT(parse_launch_plan("{}", "x").error().message, HasSubstr("'format' is missing"));
  EXPECT_FALSE(parse_launch_plan("[]", "x").ok());
  EXPECT_FALSE(parse_launch_plan("", "x").ok());
}

TEST(LaunchPlan, NamesAreSuchAsFitEverywhere) {
  EXPECT_TRUE(is_launch_name("train-7b"));
  for (const char* bad : {"", "7b", "-a", "A", "a/b", "a b", "a'b", "../x", "a.b"})
    EXPECT_FALSE(is_launch_name(bad)) << bad;
  EXPECT_FALSE(is_launch_name(std::string(41, 'a')));
}

TEST(LaunchReport, ComesBackAsItWasWritten) {
  const LaunchReport report{.state = ReportedState::kEnded,
                            .gpus = 8,
                            .interrupted = true,
                            .exit_code = 143,
                            .saved = Duration::seconds(90),
                            .pieces = 4,
                            .beat = 9,
                            .detail = "a \"b\"\n"};
  EXPECT_EQ(*parse_launch_report(to_json(report), "x"), report);
  EXPECT_THAT(parse_launch_report(R"({"state":"asleep"})", "x").error().message, HasSubstr("asleep"));
}

// ---- the record -----------------------------------------------------------------------------------------------------

TEST(LaunchRecord, HoursTimesThePriceAtPurchaseToTheCent) {
  LaunchRecord record;
  const auto read = [&](const std::string& row) { ASSERT_TRUE(record.read_row(row).ok()) << row; };
  const auto row = [](const char* name, int64_t nanos, int64_t from_s, int64_t to_s, const char* flags) {
    return fmt::format("machine\t{}\tp\t{}\tUSD\t{}\t{}\t{}\t0\t0\t", name, nanos, from_s * 1'000'000'000, to_s * 1'000'000'000,
                       flags);
  };
  read(row("a-1", 11'580'000'000, 1000, 1000 + 5400, "ms"));  // 1.5 h × 11.58 = 17.37
  read(row("a-2", 3'000'000'000, 10'000, 10'001, "ms"));      // a minute at least: 0.05
  read(row("a-3", 90'000'000'000, 20'000, 30'000, ""));       // never there
  EXPECT_EQ(record.cost({}), Money::nanos(17'420'000'000));
  EXPECT_EQ(record.cost({}).to_text(2), "17.42 USD");
}

TEST(LaunchRecord, RowsGiveItBackAndAreWrittenOnce) {
  LaunchRecord record;
  ASSERT_TRUE(record.read_row("machine\tn-1\tp4d/a/spot\t11570000000\tUSD\t5\t-\tms\t60\t2\twhy").ok());
  ASSERT_TRUE(record.read_row("stop\t77").ok());
  ASSERT_TRUE(record.read_row("end\t3\t88\tbroken").ok());
  EXPECT_THAT(record.take_rows(), SizeIs(0));
  record.print_piece("n-1");
  const auto rows = record.take_rows();
  EXPECT_THAT(rows, ElementsAre("machine\tn-1\tp4d/a/spot\t11570000000\tUSD\t5\t-\tms\t60\t3\twhy"));
  EXPECT_EQ(record.stopped(), Instant::from_ns(77));
  EXPECT_EQ(record.end()->code, 3);
  EXPECT_EQ(record.saved(), Duration::minutes(1));
}

TEST(LaunchRecord, WhatEndedByItsOwnLifetimeWasNotTakenBack) {
  CapacityRules rules;
  rules.lifetime = kHour * 24;
  const CapacityBook book(rules);
  LaunchRecord record;
  const Instant begun = Instant::from_seconds(1'000);
  ASSERT_TRUE(record.read_row(fmt::format("machine\tn-1\tp\t1\tUSD\t{}\t-\tms\t0\t0\t", begun.ns())).ok());
  ASSERT_TRUE(record.read_row(fmt::format("machine\tn-2\tp\t1\tUSD\t{}\t-\tms\t0\t0\t", (begun + kHour).ns())).ok());
  CapacityNews lost{.event = CapacityEvent::kLost, .machine = "n-1", .pool = "p", .rate = {}, .until = {}, .detail = {}};
  CapacityNews early = lost;
  early.machine = "n-2";
  record.update(begun + kHour * 24, book, {lost, early}, {});
  EXPECT_FALSE(record.machines()[0].interrupted);
  EXPECT_TRUE(record.machines()[1].interrupted);
  // Nor does its word that it had to leave, heard later, say so.
  const HeardReport left{.report = {.state = ReportedState::kEnded, .interrupted = true, .detail = {}}, .heard = begun};
  record.update(begun + kHour * 25, book, {}, {{"n-1", left}});
  EXPECT_FALSE(record.machines()[0].interrupted);
}

TEST(LaunchRecord, RowsThatAreNone) {
  LaunchRecord record;
  for (const char* bad : {"", "machine", "machine\ta\tb\t-1\tUSD\t0\t-\t\t0\t0\t",
                          "machine\ta\tb\t1\tUSD\t0\t99999999999999999\t\t0\t0\t", "stop", "stop\tx", "end\t1\t2", "wings\t1"})
    EXPECT_FALSE(record.read_row(bad).ok()) << bad;
}

// ---- the script -----------------------------------------------------------------------------------------------------

TEST(LaunchScript, NamesStayTextInTheShell) {
  const std::string evil = "https://b.s3.amazonaws.com/$(touch x)/`y`'; rm -rf / #\n&z?a=1&b=2";
  const std::string script = launch_script({.machine = "m'; reboot #",
                                            .store = "s3://b/$HOME/\"q\"",
                                            .cloud = "aws",
                                            .program = evil,
                                            .program_sha256 = std::string(64, 'a')});
  EXPECT_THAT(script, HasSubstr("-o stint 'https://b.s3.amazonaws.com/$(touch x)/`y`'\\''; rm -rf / # &z?a=1&b=2' &&"));
  EXPECT_THAT(script, HasSubstr("./stint launch-machine 's3://b/$HOME/\"q\"' 'm'\\''; reboot #'\n"));
}

TEST(LaunchScript, ItPowersOffWhateverBecomesOfIt) {
  const std::string script =
      launch_script({.machine = "m", .store = "s3://b/n", .cloud = "gcp", .program = "https://x/", .program_sha256 = "0"});
  EXPECT_LT(script.find("trap 'shutdown -P now' EXIT"), script.find("curl"));
  EXPECT_THAT(script, HasSubstr("./stint launch-machine s3://b/n m gcp\n"));
  EXPECT_THAT(script, Not(HasSubstr("exec ")));  // the trap would go with the shell
}

}  // namespace
}  // namespace stint
