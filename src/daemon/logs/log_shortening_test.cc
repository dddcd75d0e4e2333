#include "daemon/logs/log_shortening.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

JobLog log_of(int64_t job, std::string client, std::string user, int64_t mebibytes, std::optional<Instant> ended) {
  return {.job = job, .client = std::move(client), .user = std::move(user), .bytes = Bytes::mebi(mebibytes), .ended = ended};
}

/// In MiB, by job.
std::map<int64_t, double> left_of_running(const std::vector<JobLog>& logs, const LogRules& rules) {
  std::map<int64_t, double> left;
  for (const LogShortening& one : logs_to_shorten(logs, rules))
    left[logs[one.log].job] = static_cast<double>(one.left.count()) / (1 << 20);
  return left;
}

TEST(LogShortening, WhatRunsIsBoundTogether) {
  const std::vector<JobLog> logs = {log_of(1, "acme", "eve", 20, std::nullopt), log_of(2, "acme", "eve", 12, std::nullopt),
                                    log_of(3, "zoo", "zoe", 2, std::nullopt)};
  const LogRules all{.most = Bytes::mebi(16)};
  EXPECT_THAT(left_of_running(logs, all), ElementsAre(Pair(1, 8), Pair(2, 6)))
      << "34 of 16: 20 becomes 10, 12 becomes 6, 10 becomes 8; Zoe has 2 of her 8";
  LogRules of_user;
  of_user.clients["acme"].user = Bytes::mebi(9);
  EXPECT_THAT(left_of_running({logs[0], logs[2]}, of_user), ElementsAre(Pair(1, 9)));
  LogRules of_client;
  of_client.clients["acme"].client = Bytes::mebi(30);
  EXPECT_THAT(left_of_running(logs, of_client), ElementsAre(Pair(1, 18))) << "32 of 30";
  EXPECT_THAT(left_of_running(logs, {.most = Bytes::of(1)}), ElementsAre(Pair(1, 0.0625), Pair(2, 0.0625), Pair(3, 0.0625)))
      << "64 KiB of each stay";
  EXPECT_THAT(left_of_running(logs, {.most = Bytes::mebi(35)}), IsEmpty());
}

TEST(LogShortening, WhatHasEndedCountsAndIsNotShortened) {
  const std::vector<JobLog> logs = {log_of(1, "acme", "eve", 8, Instant::from_seconds(1)),
                                    log_of(2, "acme", "eve", 4, std::nullopt)};
  EXPECT_THAT(left_of_running(logs, {.most = Bytes::mebi(11)}), ElementsAre(Pair(2, 3)));
}

}  // namespace
}  // namespace stint
