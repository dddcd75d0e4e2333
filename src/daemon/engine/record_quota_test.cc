#include "daemon/engine/record_quota.h"

#include <gmock/gmock.h>

#include "daemon/testing_daemon.h"

namespace stint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Instant kNoonOfQuota = Instant::from_seconds(1'790'000'000);

TEST(RecordQuota, HoldsAUserAndAllOfAClient) {
  RecordQuota quota;
  const ClientRules rules{
      .client = "acme",
      .approval_above = {},
      .quota = {.gpus = {}, .gpu_hours_per_month = {}, .jobs_waiting = {}, .records_per_day = 10, .mebibytes_per_day = 2},
      .user_quota = {.gpus = {}, .gpu_hours_per_month = {}, .jobs_waiting = {}, .records_per_day = 6, .mebibytes_per_day = {}},
      .regions = {},
      .dedicated_nodes = {},
      .only_dedicated = false};
  const auto put = [&](const char* user, LogUse use) {
    AdmissionRefusal why;
    const Status status = quota.check("acme", user, use, &rules, kNoonOfQuota, &why);
    if (status.ok()) quota.add("acme", user, use, kNoonOfQuota);
    return status.ok() ? std::string() : fmt::format("{} of {}: {}", why.by, why.of, status.error().message);
  };
  EXPECT_EQ(put("eve", {.records = 6, .bytes = Bytes::of(10'240)}), "");
  EXPECT_THAT(put("eve", {.records = 1, .bytes = {}}),
              AllOf(HasSubstr("records_per_day of user: user eve in client acme may put 6 records a day"),
                    HasSubstr("6 are there since midnight UTC, this adds 1: wait until 2026-09-22"),
                    HasSubstr("raise user_records_per_day")));
  EXPECT_EQ(put("vera", {.records = 2, .bytes = {}}), "") << "a colleague goes on";
  EXPECT_THAT(put("kim", {.records = 3, .bytes = {}}), HasSubstr("records_per_day of client: client acme may put 10 records"));
  EXPECT_THAT(put("kim", {.records = 1, .bytes = Bytes::mebi(2)}),
              HasSubstr("client acme may put 2 MiB a day into the event log: 0.0 are there"));
  EXPECT_TRUE(quota.check("acme", "eve", {.records = 6, .bytes = {}}, &rules, kNoonOfQuota + kHour * 24, nullptr).ok())
      << "tomorrow";
  EXPECT_TRUE(quota.check("zoo", "eve", {.records = 6, .bytes = {}}, nullptr, kNoonOfQuota, nullptr).ok()) << "another client";
}

TEST(RecordQuota, CountsEachJobOfAnArrayAndTheTextsOnce) {
  JobRequest request;
  request.script = std::string(5'000, 'x');
  request.array = 100;
  const LogUse use = log_use_of(request);
  EXPECT_EQ(use.records, 100);
  EXPECT_GE(use.bytes.count(), 5'000);
  EXPECT_LT(use.bytes.count(), 50'000);
}

TEST(RecordQuota, CountsAllThatARequestMayNameAtLength) {
  const int64_t small = log_use_of(JobRequest()).bytes.count();
  const std::string text(1'000, 'x');
  const auto more = [&](auto&& give) {
    JobRequest request;
    give(request);
    return log_use_of(request).bytes.count() - small;
  };
  EXPECT_GE(more([&](JobRequest& r) { r.machines.assign(100, "gpu-12345"); }), 1'000);
  EXPECT_GE(more([&](JobRequest& r) { r.command = {text}; }), 1'000);
  EXPECT_GE(more([&](JobRequest& r) { r.affinity = {text}; }), 1'000);
  EXPECT_GE(more([&](JobRequest& r) { r.node_labels = {{"a", text}}; }), 1'000);
  EXPECT_GE(more([&](JobRequest& r) { r.labels = {{"a", text}}; }), 1'000);
  EXPECT_GE(more([&](JobRequest& r) { r.output_path = text; }), 1'000);
  EXPECT_GE(more([&](JobRequest& r) { r.makes = text; }), 1'000);
  EXPECT_GE(more([&](JobRequest& r) { r.study = text; }), 1'000);
}

TEST(EngineRecordQuota, StopsOneWhoSubmitsAndCancelsAndHoldsForEver) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", governed(R"({"clients":[{"name":"acme","user_records_per_day":12}]})"));
  JobRequest job = testing_job(0, Duration::hours(1));
  job.on_hold = true;
  const CommandInfo ada{.actor = "ada", .idempotency_key = "", .refusal = {}};
  // Two records each: what waits is never much.
  for (int i = 0; i < 5; ++i) {
    const int64_t id = daemon.submit(job);
    ASSERT_TRUE(daemon.engine().stage_cancel(id, ada).ok());
    ASSERT_TRUE(daemon.commit().ok());
  }
  const int64_t left = daemon.submit(job);
  ASSERT_TRUE(daemon.engine().stage_release(left, ada).ok());
  ASSERT_TRUE(daemon.commit().ok());
  const Status held = daemon.engine().stage_hold(left, ada);
  ASSERT_FALSE(held.ok());
  EXPECT_THAT(held.error().message, HasSubstr("user ada in client acme may put 12 records a day"));
  const Result<int64_t> refused = daemon.engine().stage_submit(job, ada);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("user_records_per_day"));
  // What ends a job is always taken, and asked for again is no record.
  ASSERT_TRUE(daemon.engine().stage_cancel(left, ada).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::hours(24));
  daemon.engine().look(daemon.now());
  EXPECT_TRUE(daemon.engine().stage_submit(job, ada).ok());
}

}  // namespace
}  // namespace stint
