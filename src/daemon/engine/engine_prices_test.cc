// Machines whose prices change with time: who waits for them, and what they make of bills and budgets. It is Friday, 8:00.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "daemon/testing_daemon.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

const std::string kNights = R"([{"machines":["n*"],"hours":"22:00-06:00","per_hour":"4"}])";

/// testing_fleet(), whose machines cost 16 an hour, with these prices.
FleetConfig priced(const std::string& prices, const std::string& govern = "{}", int nodes = 1) {
  nlohmann::json json = nlohmann::json::parse(to_json(governed(govern, nodes)));
  json["prices"] = nlohmann::json::parse(prices);
  auto fleet = parse_fleet_config(json.dump(), "priced fleet");
  CHECK(fleet.ok(), "{}", fleet.error().message);
  return *fleet;
}

JobRequest deferrable(Duration run_time, Duration until) {
  JobRequest job = testing_job(8, run_time);
  job.time_limit = run_time;
  job.deferrable = true;
  job.deadline = kDaemonStart + until;
  return job;
}

std::string why(TestingDaemon& daemon, int64_t job) {
  return *daemon.engine().why(job, [](int64_t) { return true; });
}

TEST(EnginePrices, ADeferrableJobWaitsForTheNightAndSaysUntilWhenAndWhy) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", priced(kNights));
  const int64_t id = daemon.submit(deferrable(Duration::hours(2), Duration::hours(24)));
  EXPECT_EQ(daemon.job(id).state, JobState::kWaiting);
  EXPECT_THAT(why(daemon, id), HasSubstr("may wait for a cheaper hour, and does, until 2027-01-15 22:00:00 UTC: its GPUs cost "
                                         "8.00 USD from then on, 32.00 USD from now on; to meet its deadline it must start by "
                                         "2027-01-16 06:00:00 UTC"));
  daemon.pass(Duration::hours(14) - Duration::seconds(1));
  EXPECT_EQ(daemon.job(id).state, JobState::kWaiting);
  daemon.restart();
  daemon.pass(Duration::seconds(1));
  EXPECT_EQ(daemon.job(id).state, JobState::kRunning);
  daemon.pass(Duration::hours(3));
  EXPECT_EQ(daemon.job(id).state, JobState::kSucceeded);
  EXPECT_EQ(daemon.job(id).cost, Money::units(8));
}

TEST(EnginePrices, WhereTheNightComesTooLateItStartsAtOnce) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", priced(kNights));
  EXPECT_EQ(daemon.job(daemon.submit(deferrable(Duration::hours(2), Duration::hours(8)))).state, JobState::kRunning);
}

// 21:00 to 23:00: an hour at 16 and one at 4. Its price an hour is that of the moment, and the machine's, too.
TEST(EnginePrices, ARunPaysThePricesOfItsTime) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", priced(kNights));
  daemon.pass(Duration::hours(13));
  const int64_t id = daemon.submit(testing_job(8, Duration::hours(2)));
  EXPECT_EQ(daemon.job(id).burn.per_hour(), Money::units(16));
  daemon.pass(Duration::minutes(90));
  EXPECT_EQ(daemon.job(id).burn.per_hour(), Money::units(4));
  EXPECT_EQ(daemon.engine().nodes()[0].rate.per_hour(), Money::units(4));
  daemon.engine().look(daemon.now());
  EXPECT_EQ(daemon.job(id).cost, Money::units(18));
  daemon.restart();
  daemon.pass(Duration::hours(1));
  EXPECT_EQ(daemon.job(id).cost, Money::units(20));
}

// Two hours at 16; then the configuration says 2 from noon on, so two more at 16, and two at 2.
TEST(EnginePrices, OtherPricesCountFromTheReload) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", priced("[]"));
  const int64_t id = daemon.submit(testing_job(8, Duration::hours(6)));
  const int64_t waits = daemon.submit(deferrable(Duration::hours(1), Duration::hours(20)));
  daemon.pass(Duration::hours(2));
  ASSERT_TRUE(daemon.engine()
                  .stage_fleet(priced(R"([{"machines":["n0"],"from":[{"at":"2027-01-15T12:00:00Z","per_hour":"2"},)"
                                      R"({"at":"2027-01-15T20:00:00Z","per_hour":"1"}]}])"),
                               {})
                  .ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::hours(4));
  EXPECT_EQ(daemon.job(id).cost, Money::units(4 * 16 + 2 * 2));
  EXPECT_EQ(daemon.job(id).state, JobState::kSucceeded);
  EXPECT_EQ(daemon.job(waits).state, JobState::kWaiting) << "room is free at 14:00, and it waits for 20:00";
  daemon.pass(Duration::hours(6));
  EXPECT_EQ(daemon.job(waits).state, JobState::kRunning);
}

std::vector<std::pair<std::string, std::string>> rates_of(TestingDaemon& daemon) {
  std::vector<std::pair<std::string, std::string>> all;
  const std::vector<NodeView> nodes = daemon.engine().nodes();
  for (const RatePoint& point : nodes.front().rates)
    all.emplace_back(format_utc(point.from), point.rate.per_hour().to_decimal());
  return all;
}

TEST(EnginePrices, AMachineSaysWhatItCostWhen) {
  using ::testing::ElementsAre;
  using ::testing::Pair;
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", priced(kNights));
  EXPECT_THAT(rates_of(daemon), ElementsAre(Pair("2027-01-15T08:00:00Z", "16")));
  daemon.pass(Duration::hours(34) + Duration::minutes(1));  // two changes in one step
  EXPECT_THAT(rates_of(daemon), ElementsAre(Pair("2027-01-15T08:00:00Z", "16"), Pair("2027-01-15T22:00:00Z", "4"),
                                            Pair("2027-01-16T06:00:00Z", "16")));
  const std::string other = R"([{"machines":["n0"],"from":[{"at":"2027-01-16T20:00:00Z","per_hour":"2"}]}])";
  ASSERT_TRUE(daemon.engine().stage_fleet(priced(other), {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  EXPECT_EQ(rates_of(daemon).size(), 3U) << "the price of now is the same";
  daemon.pass(Duration::hours(4));
  EXPECT_THAT(rates_of(daemon).back(), Pair("2027-01-16T20:00:00Z", "2"));
  EXPECT_EQ(rates_of(daemon).size(), 4U);
  daemon.restart();  // with the prices of the beginning
  EXPECT_EQ(rates_of(daemon).size(), 5U);
  EXPECT_THAT(rates_of(daemon)[3], Pair("2027-01-16T20:00:00Z", "2")) << "by the log";
  EXPECT_THAT(rates_of(daemon)[4], Pair("2027-01-16T22:01:00Z", "4"));
}

// Without a time limit until the end of January: 400 hours, 130 of them in nights.
TEST(EnginePrices, ABudgetsForecastGoesByThePricesAhead) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db",
                       priced(kNights, R"({"budgets":[{"name":"b","queue":"acme","per_month":"9000","at_limit":"warn"}]})"));
  daemon.submit(testing_job(8, Duration::hours(1'000)));
  EXPECT_EQ(daemon.engine().budgets().at(0).month_end, Money::units(270 * 16 + 130 * 4));
}

TEST(EnginePrices, AnApprovalReckonsWithTheDearestHours) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db",
                       priced(R"([{"machines":["*"],"hours":"22:00-06:00","per_hour":"40"}])", R"({"approval_above":"30"})"));
  JobRequest job = testing_job(8, Duration::hours(1));
  job.time_limit = Duration::hours(1);
  EXPECT_EQ(daemon.job(daemon.submit(job)).state, JobState::kNeedsApproval);
}

/// Hours of the week are told six weeks ahead, anew in each.
TEST(EnginePrices, NightsMonthsAheadAreKnownWhenTheyCome) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", priced(kNights));
  daemon.pass(Duration::hours(24 * 70));
  JobRequest job = deferrable(Duration::hours(2), Duration::hours(24 * 71));
  const int64_t id = daemon.submit(job);
  EXPECT_EQ(daemon.job(id).state, JobState::kWaiting);
  daemon.pass(Duration::hours(14));
  EXPECT_EQ(daemon.job(id).state, JobState::kRunning);
}

}  // namespace
}  // namespace stint
