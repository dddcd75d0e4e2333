#include "daemon/logs/log_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "daemon/engine/govern_policy.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Instant hour(int64_t n) { return Instant::from_seconds(n * 3600); }

JobLog log_of(int64_t job, std::string client, std::string user, int64_t mebibytes, std::optional<Instant> ended) {
  return {.job = job, .client = std::move(client), .user = std::move(user), .bytes = Bytes::mebi(mebibytes), .ended = ended};
}

/// The jobs that go, in order.
std::vector<int64_t> jobs_cut(const std::vector<JobLog>& logs, const LogRules& rules, Instant now = hour(1000)) {
  std::vector<int64_t> jobs;
  for (const LogCut& cut : logs_to_cut(logs, rules, now))
    jobs.push_back(logs[cut.log].job);
  return jobs;
}

TEST(LogRules, WithoutBoundsAllStays) { EXPECT_THAT(jobs_cut({log_of(1, "acme", "eve", 999, hour(1))}, {}), IsEmpty()); }

TEST(LogRules, AgeCountsFromTheJobsEnd) {
  const std::vector<JobLog> logs = {log_of(1, "acme", "eve", 1, hour(5)), log_of(2, "acme", "eve", 1, hour(6)),
                                    log_of(3, "acme", "eve", 1, std::nullopt)};
  EXPECT_THAT(jobs_cut(logs, {.keep = kHour * 10}, hour(14)), IsEmpty());
  EXPECT_THAT(jobs_cut(logs, {.keep = kHour * 10}, hour(15)), ElementsAre(1));
  EXPECT_THAT(jobs_cut(logs, {.keep = kHour * 10}, hour(999)), ElementsAre(1, 2)) << "what runs is not old";
}

TEST(LogRules, AUserOverTheQuotaLosesTheOldestOfTheirs) {
  const std::vector<JobLog> logs = {log_of(1, "acme", "vera", 9, hour(1)), log_of(2, "acme", "eve", 4, hour(3)),
                                    log_of(3, "acme", "eve", 4, hour(2)), log_of(4, "acme", "eve", 4, hour(4))};
  LogRules rules;
  rules.clients["acme"].user = Bytes::mebi(9);
  EXPECT_THAT(logs_to_cut(logs, rules, hour(9)), ElementsAre(LogCut{.log = 2, .cause = LogCause::kUser}))
      << "12 of 9: one makes room, and Vera has 9 herself";
}

TEST(LogRules, WhatRunsCountsAndStays) {
  const std::vector<JobLog> logs = {log_of(1, "acme", "eve", 20, std::nullopt), log_of(2, "acme", "eve", 1, hour(2)),
                                    log_of(3, "acme", "eve", 0, hour(1))};
  LogRules rules;
  rules.clients["acme"].client = Bytes::mebi(9);
  EXPECT_THAT(jobs_cut(logs, rules), ElementsAre(2)) << "and what takes no room makes none";
}

TEST(LogRules, WhoIsWithinTheirPartDoesNotPayForWhatRuns) {
  const std::vector<JobLog> logs = {log_of(1, "acme", "vera", 2, hour(1)), log_of(2, "acme", "eve", 8, std::nullopt),
                                    log_of(3, "zoo", "zoe", 4, hour(1))};
  LogRules rules;
  rules.clients["acme"].client = Bytes::mebi(6);
  EXPECT_THAT(jobs_cut(logs, rules), IsEmpty()) << "Vera has 2 of the 3 that are hers";
  EXPECT_THAT(jobs_cut(logs, {.most = Bytes::mebi(9)}), IsEmpty())
      << "nor of what all may take: Zoe has 4 of 4.5, Vera 2 of 2.25";
  EXPECT_THAT(jobs_cut(logs, {.most = Bytes::mebi(7)}), ElementsAre(1, 3)) << "2 of 1.75, then 4 of 3.5";
}

TEST(LogRules, WithinAClientTheLargestUserGivesWay) {
  const std::vector<JobLog> logs = {log_of(1, "acme", "vera", 2, hour(1)), log_of(2, "acme", "eve", 5, hour(2)),
                                    log_of(3, "acme", "eve", 5, hour(3)), log_of(4, "zoo", "zoe", 50, hour(1))};
  LogRules rules;
  rules.clients["acme"].client = Bytes::mebi(8);
  EXPECT_THAT(jobs_cut(logs, rules), ElementsAre(2)) << "Vera's is older, but Eve has 10 of 12; the zoo has no quota";
}

TEST(LogRules, AClientBelowItsEqualPartLosesNothingToAnother) {
  const std::vector<JobLog> logs = {log_of(1, "zoo", "zoe", 4, hour(1)), log_of(2, "acme", "eve", 6, hour(2)),
                                    log_of(3, "acme", "eve", 6, hour(3)), log_of(4, "acme", "eve", 6, hour(4))};
  EXPECT_THAT(jobs_cut(logs, {.most = Bytes::mebi(10)}), ElementsAre(2, 3)) << "22 of 10: 6 and 6 make room";
  EXPECT_THAT(jobs_cut(logs, {.most = Bytes::mebi(9)}), ElementsAre(2, 3, 4)) << "6 of Acme's against 4: hers still";
}

TEST(LogRules, SmallestRulesComeFirst) {
  const std::vector<JobLog> logs = {log_of(1, "acme", "eve", 4, hour(1)), log_of(2, "acme", "eve", 4, hour(20)),
                                    log_of(3, "acme", "vera", 4, hour(21)), log_of(4, "zoo", "zoe", 4, hour(22)),
                                    log_of(5, "zoo", "zoe", 1, hour(23))};
  LogRules rules{.keep = kHour * 10, .most = Bytes::mebi(8)};
  rules.clients["acme"] = {.client = Bytes::mebi(7), .user = Bytes::mebi(7)};
  EXPECT_THAT(logs_to_cut(logs, rules, hour(24)),
              ElementsAre(LogCut{.log = 0, .cause = LogCause::kAge}, LogCut{.log = 1, .cause = LogCause::kClient},
                          LogCut{.log = 3, .cause = LogCause::kTotal}));
}

TEST(LogRules, UsesAreByClientAndUser) {
  const LogDiskUses uses = uses_of({log_of(1, "acme", "eve", 4, hour(1)), log_of(2, "acme", "vera", 1, std::nullopt)});
  EXPECT_EQ(uses.at("acme").bytes, Bytes::mebi(5));
  EXPECT_EQ(uses.at("acme").users.at("vera"), Bytes::mebi(1));
}

TEST(LogRules, TheConfigurationAndTheDiskSayWhatHolds) {
  ClientRules acme;
  acme.client = "acme";
  acme.quota.log_mebibytes = 8;
  acme.user_quota.log_mebibytes = 2;
  const LogRules rules = log_rules({.keep = kHour}, {acme, ClientRules{}}, Bytes::gibi(int64_t{40}));
  EXPECT_EQ(rules.keep, kHour);
  EXPECT_EQ(rules.most, Bytes::gibi(int64_t{10})) << "a quarter of the disk where none is named";
  EXPECT_EQ(rules.clients.at("acme").client, Bytes::mebi(8));
  EXPECT_EQ(rules.clients.at("acme").user, Bytes::mebi(2));
  EXPECT_EQ(rules.clients.size(), 1U);
  EXPECT_EQ(log_rules({.most = Bytes()}, {}, Bytes::gibi(int64_t{40})).most, std::nullopt) << "0 = no bound";
  EXPECT_EQ(log_rules({.most = Bytes::mebi(5)}, {}, std::nullopt).most, Bytes::mebi(5));
}

Result<LogKeeping> read(const std::string& json) {
  JsonParser parser;
  TRY_ASSIGN(const auto element, parser.parse(json, "test"));
  JsonFields fields(element, "stint.json: job_logs");
  return read_log_keeping(fields);
}

TEST(LogRules, TheObjectIsRead) {
  const auto keeping = read(R"({"keep": "30d", "most": "50GiB"})");
  ASSERT_TRUE(keeping.ok()) << keeping.error().message;
  EXPECT_EQ(keeping->keep, kHour * 24 * 30);
  EXPECT_EQ(keeping->most, Bytes::gibi(int64_t{50}));
  EXPECT_EQ(*read("{}"), LogKeeping());
  EXPECT_THAT(read(R"({"keep": "soon"})").error().message, HasSubstr("keep"));
  EXPECT_THAT(read(R"({"most": -1})").error().message, HasSubstr("most"));
  EXPECT_THAT(read(R"({"total": "1GiB"})").error().message, HasSubstr("total"));
}

}  // namespace
}  // namespace stint
