#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "store/history_file.h"

namespace stint {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A History file in its own folder.
class Bill : public ::testing::Test {
 protected:
  Bill() : folder_(fs::temp_directory_path() / fmt::format("stint-bill-test-{}", getpid())) { fs::create_directories(folder_); }
  ~Bill() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  /// One A100 node for a day of October 2026: a run of red for six hours, nothing known of the rest.
  void write_history() const {
    auto file = HistoryFile::open(path("fleet.db"), OpenMode::kCreate);
    ASSERT_TRUE(file.ok()) << file.error().message;
    auto import = (*file).begin_import("test", "test", Instant());
    ASSERT_TRUE(import.ok());
    const Instant day = *parse_instant("2026-10-10");
    Node node;
    node.name = "gpu-1";
    node.gpu_model = "A100-80GB";
    node.gpu_count = 1;
    node.present_from = day;
    node.present_until = day + kHour * 24;
    (*import)->node(node);
    stint::Run run;
    run.id = "1";
    run.name = "train-bert";
    run.tenant.client = "red";
    run.kind = WorkloadKind::kTraining;
    run.started = day;
    run.ended = day + kHour * 6;
    run.allocations.push_back({"gpu-1", {0}, 1});
    (*import)->run(run);
    BillLine line;
    line.provider = "aws";
    line.resource_id = "gpu-1";
    line.spend = SpendKind::kCompute;
    line.charge_period = {day, day + kHour * 24};
    line.billing_period = *parse_month("2026-10");
    line.billed = line.effective = Money::units(96);
    (*import)->bill_line(line);
    ASSERT_TRUE((*import)->commit("fingerprint").ok());
  }

  int run(std::vector<std::string> arguments) const {
    const std::shared_ptr<Command> app = make_program("stint", "", "");
    Action action;
    add_bill_command(*app, action);
    arguments.insert(arguments.begin(), "bill");
    if (const std::optional<int> exit = parse_line(*app, std::move(arguments))) return *exit;
    return static_cast<int>(action());
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  fs::path folder_;
};

TEST_F(Bill, BillsInTwoCurrenciesAreShownInTheOneChosen) {
  write_history();  // 96 USD
  {
    auto file = HistoryFile::open(path("fleet.db"), OpenMode::kReadWrite);
    auto import = (*file).begin_import("test", "euros", Instant());
    BillLine line;
    line.provider = "azure";
    line.spend = SpendKind::kStorage;
    line.charge_period = *parse_month("2026-10");
    line.billing_period = line.charge_period;
    line.billed = line.effective = *Money::parse("10", *Currency::parse("EUR"));
    (*import)->bill_line(line);
    ASSERT_TRUE((*import)->commit("euros").ok());
  }
  EXPECT_EQ(run({"--history", path("fleet.db"), "-o", path("bill.json")}), 1) << "which one?";
  {
    auto file = HistoryFile::open(path("fleet.db"), OpenMode::kReadWrite);
    ASSERT_TRUE((*file).show_in(*Currency::parse("EUR")).ok());
    EXPECT_EQ(run({"--history", path("fleet.db"), "-o", path("bill.json")}), 1) << "without exchange rates";
    auto import = (*file).begin_import("test", "rates", Instant());
    (*import)->exchange_rate({*parse_instant("2026-10-09"), *Currency::parse("EUR"), *Money::parse("1.2")});
    ASSERT_TRUE((*import)->commit("rates").ok());
  }
  ASSERT_EQ(run({"--history", path("fleet.db"), "--json", "-o", path("bill.json")}), 0);
  const auto json = nlohmann::json::parse(read("bill.json"));
  EXPECT_EQ(json["currency"], "EUR");
  EXPECT_EQ(json["total"], "90");  // 96 / 1.2 + 10
  ASSERT_EQ(run({"--history", path("fleet.db"), "--format", "focus", "-o", path("focus.csv")}), 0);
  EXPECT_THAT(read("focus.csv"), HasSubstr(",USD,"));
  EXPECT_THAT(read("focus.csv"), HasSubstr(",EUR,"));
  ASSERT_EQ(run({"--history", path("fleet.db"), "-o", path("bill.txt")}), 0);
  EXPECT_THAT(read("bill.txt"), HasSubstr("1 line of the bill came in USD: shown in EUR"));
}

TEST_F(Bill, FromHistoryToStatement) {
  write_history();
  ASSERT_EQ(run({"--history", path("fleet.db"), "--month", "2026-10", "--json", "-o", path("bill.json")}), 0);
  const auto json = nlohmann::json::parse(read("bill.json"));
  EXPECT_EQ(json["total"], "96");
  EXPECT_EQ(json["rows"][0]["name"], "red");
  EXPECT_EQ(json["rows"][0]["training"], "24");  // 6 of 24 hours
  EXPECT_EQ(json["idle"][0]["cause"], "telemetry-missing");
  EXPECT_EQ(json["idle"][0]["amount"], "72");
}

TEST_F(Bill, ByPodAndAsOpencostAnswers) {
  write_history();
  ASSERT_EQ(
      run({"--history", path("fleet.db"), "--month", "2026-10", "--by", "namespace,pod", "--json", "-o", path("bill.json")}), 0);
  const auto bill = nlohmann::json::parse(read("bill.json"));
  EXPECT_EQ(bill["by"], "namespace,pod");
  EXPECT_EQ(bill["rows"][0]["name"], "red/1") << "a job is its client's";
  EXPECT_EQ(bill["rows"][0]["total"], "24");
  EXPECT_EQ(bill["total"], "96");
  const auto data = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"--history", path("fleet.db"), "--since", "2026-10-10",
                                          "--until",   "2026-10-11",     "--by",    "controller",
                                          "--format",  "opencost",       "-o",      path("answer.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(run(arguments), 0);
    return nlohmann::json::parse(read("answer.json"))["data"];
  };
  const auto whole = data({});
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_EQ(whole[0]["train-bert"]["totalCost"], 24);
  EXPECT_EQ(whole[0]["__idle__"]["totalCost"], 72);
  EXPECT_EQ(data({"--idle", "left-out"})[0].size(), 1U);
  EXPECT_EQ(data({"--idle", "spread"})[0]["train-bert"]["totalCost"], 96);
  EXPECT_EQ(data({"--client", "blue"})[0].size(), 0U);
  EXPECT_EQ(data({"--client=red", "--client=blue"})[0].size(), 1U);
  const auto steps = data({"--step", "5h"});
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps[1]["train-bert"]["totalCost"], 4) << "the last hour of six";
  EXPECT_FALSE(steps[2].contains("train-bert"));
}

TEST_F(Bill, WhatIsAnsweredElsewhereAloneIsNotPassedOver) {
  write_history();
  const std::string db = path("fleet.db");
  EXPECT_EQ(run({"--history", db, "--step", "1d"}), 1);
  EXPECT_EQ(run({"--history", db, "--client", "red"}), 1);
  EXPECT_EQ(run({"--history", db, "--idle", "left-out"}), 1);
  EXPECT_EQ(run({"--history", db, "--format", "opencost", "--by", "workload"}), 1);
  EXPECT_EQ(run({"--history", db, "--format", "opencost", "--step", "1s"}), 1);
  EXPECT_EQ(run({"--history", db, "--by", "cluster"}), 2);
}

TEST_F(Bill, PeriodCutsTheBill) {
  write_history();
  ASSERT_EQ(run({"--history", path("fleet.db"), "--since", "2026-10-10", "--until", "2026-10-10T12:00:00Z", "--format", "csv",
                 "-o", path("bill.csv")}),
            0);
  EXPECT_THAT(read("bill.csv"), HasSubstr("tenant,red,24"));
  EXPECT_THAT(read("bill.csv"), HasSubstr("idle,telemetry-missing,0,0,0,0,0,0,0,0,0,24"));
}

TEST_F(Bill, FocusRowsSumToTheBill) {
  write_history();
  ASSERT_EQ(run({"--history", path("fleet.db"), "--format", "focus", "-o", path("focus.csv")}), 0);
  const std::string csv = read("focus.csv");
  EXPECT_THAT(csv, HasSubstr("EffectiveCost"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);  // heading, red, idle
}

TEST_F(Bill, AMonthOfWhichNothingIsKnownHasNoBill) {
  write_history();
  EXPECT_EQ(run({"--history", path("fleet.db"), "--month", "2027-03", "-o", path("none.json")}), 1);
  EXPECT_EQ(run({"--history", path("fleet.db"), "--month", "2026-09", "-o", path("none.json")}), 1);
  EXPECT_FALSE(fs::exists(path("none.json")));
}

TEST_F(Bill, ABillEndsWithWhatHasHappened) {
  write_history();
  ASSERT_EQ(run({"--history", path("fleet.db"), "--month", "2026-10", "--json", "-o", path("bill.json")}), 0);
  EXPECT_EQ(nlohmann::json::parse(read("bill.json"))["period"]["until"], "2026-10-11T00:00:00Z");
}

TEST_F(Bill, AJobThatRunsIsBilledToTheLastSignOfIt) {
  auto file = HistoryFile::open(path("live.db"), OpenMode::kCreate);
  const Instant noon = *parse_instant("2026-10-10T12:00:00Z");
  auto import = (*file).begin_import("daemon", "daemon", noon + Duration::minutes(5));
  Node node;
  node.name = "gpu-1";
  node.gpu_count = 1;
  node.rate = Rate::per_hour(Money::units(12));
  (*import)->node(node);
  stint::Run run_now;
  run_now.id = "1";
  run_now.tenant.client = "red";
  run_now.state = RunState::kRunning;
  run_now.started = noon;
  run_now.allocations.push_back({"gpu-1", {0}, 1});
  (*import)->run(run_now);
  ASSERT_TRUE((*import)->commit("x").ok());
  ASSERT_EQ(run({"--history", path("live.db"), "--month", "2026-10", "--json", "-o", path("bill.json")}), 0);
  const auto json = nlohmann::json::parse(read("bill.json"));
  EXPECT_NEAR(std::stod(json["total"].get<std::string>()), 1, 1e-8);  // 5 minutes at 12 an hour; hours have a billion parts
  EXPECT_EQ(json["period"]["until"], "2026-10-10T13:00:00Z");         // hours are whole
  // --until is honoured to the second; within an hour, use counts as even.
  ASSERT_EQ(run({"--history", path("live.db"), "--since", "2026-10-10", "--until", "2026-10-10T12:01:00Z", "--json", "-o",
                 path("bill.json")}),
            0);
  EXPECT_EQ(nlohmann::json::parse(read("bill.json"))["total"], "0.016666666");
}

TEST_F(Bill, WrongUsageAndAbsentFiles) {
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(run({"--history", path("absent.db")}), 1);
  EXPECT_EQ(run({"--history", path("absent.db"), "--by", "colour"}), 2);
  write_history();
  EXPECT_EQ(run({"--history", path("fleet.db"), "--month", "2026-13"}), 1);
  EXPECT_EQ(run({"--history", path("fleet.db"), "-o", path("no/such/folder/x")}), 1);
  EXPECT_FALSE(fs::exists(path("no")));
}

TEST(PeriodOptions, MonthOrBothDates) {
  EXPECT_TRUE(parse_period({})->empty());
  EXPECT_EQ(parse_period({"2026-10", "", ""})->length(), kHour * (31 * 24));
  EXPECT_EQ(parse_period({"", "2026-10-01", "2026-10-02"})->length(), kHour * 24);
  EXPECT_FALSE(parse_period({"2026-10", "2026-10-01", ""}).ok());
  EXPECT_FALSE(parse_period({"", "2026-10-01", ""}).ok());
  EXPECT_FALSE(parse_period({"", "2026-10-02", "2026-10-01"}).ok());
}

}  // namespace
}  // namespace stint
