#include "daemon/logs/log_keeper.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

#include "daemon/testing_daemon.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class KeptByKeeper : public ::testing::Test {
 protected:
  KeptByKeeper() : service_(testing_service(log_, dir_ / "events.db", backend_)) {
    std::filesystem::create_directory(folder_);
    auto governor = Governor::open(dir_ / "govern.db");
    CHECK(governor.ok(), "{}", governor.error().message);
    governor_ = std::move(*governor);
  }

  /// Of acme's user ada; it runs, and has printed so much.
  int64_t job(size_t bytes) {
    std::promise<int64_t> submitted;
    service_->submit(testing_job(1, Duration::hours(100)), {.actor = "ada", .idempotency_key = ""},
                     [&](const Result<JobView>& job) { submitted.set_value(job->id); });
    const int64_t id = submitted.get_future().get();
    put_file(file_of(id), std::string(bytes, 'x'));
    return id;
  }
  void end(int64_t job) {
    std::promise<void> done;
    service_->cancel(job, {.actor = "ada", .idempotency_key = ""}, [&](const Result<JobView>&) { done.set_value(); });
    done.get_future().get();
    EXPECT_TRUE(comes_true([&] { return service_->get([job](const Engine& e) { return has_ended(e.job(job)->state); }).get(); }));
  }
  [[nodiscard]] std::string file_of(int64_t job) const { return fmt::format("{}/{}.0.0.out", folder_, job); }
  [[nodiscard]] bool is_there(int64_t job) const { return std::filesystem::exists(file_of(job)); }
  static bool comes_true(const std::function<bool()>& condition) {
    for (int tries = 0; tries < 30'000 && !condition(); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return condition();
  }
  std::vector<std::string> audit() {
    std::promise<std::vector<std::string>> read;
    governor_->read_audit(0, 100, "acme", [&](const Result<std::vector<AuditRow>>& rows) {
      std::vector<std::string> records;
      for (const AuditRow& row : *rows)
        records.push_back(row.record);
      read.set_value(std::move(records));
    });
    return read.get_future().get();
  }

  ScratchDir dir_;
  std::string folder_ = dir_ / "logs";
  SimulatedBackend backend_;
  std::optional<EventLog> log_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Governor> governor_;
  std::vector<std::string> said_;
  LogKeeperOptions options_{.tasks = look_at_tasks(dir_ / "", ""),
                            .clock = [] { return kDaemonStart; },
                            .say = [this](const std::string& problem) { said_.push_back(problem); },
                            .pause = Duration::milliseconds(1)};
};

TEST_F(KeptByKeeper, WhatIsTooMuchGoesOnceItsJobHasEnded) {
  constexpr size_t kMany = 3 << 20;
  const int64_t runs = job(kMany), ended = job(kMany), last = job(100);
  put_file(folder_ + "/99999.0.0.out", std::string(kMany, 'x'));  // no job of this daemon's
  end(ended);
  LogRules rules;
  rules.clients["acme"].client = Bytes::mebi(4);
  LogKeeper keeper(*service_, *governor_, options_, rules);
  EXPECT_TRUE(comes_true([&] { return !is_there(ended); }));
  EXPECT_TRUE(comes_true([&] { return keeper.taken_away()["acme"] >= Bytes::mebi(3); }));
  EXPECT_TRUE(is_there(runs)) << "it still runs";
  EXPECT_TRUE(is_there(last));
  EXPECT_TRUE(is_there(99'999)) << "whoever put it there takes it away";
  EXPECT_LT(keeper.uses()["acme"].bytes, Bytes::mebi(4));
  EXPECT_GT(keeper.uses()["acme"].users["ada"], Bytes::mebi(2));
  ASSERT_TRUE(comes_true([&] { return !audit().empty(); }));
  EXPECT_THAT(audit(),
              ElementsAre(HasSubstr("logs of 1 ended job taken away, 3.0 MiB: 1 by the client's quota (log_mebibytes): acme-2")));
  keeper.set_rules({.keep = Duration::nanoseconds(1), .most = {}, .clients = {}});
  end(last);
  EXPECT_TRUE(comes_true([&] { return !is_there(last); })) << "new rules hold from the next look on";
  EXPECT_TRUE(is_there(runs));
}

TEST_F(KeptByKeeper, WhatCannotBeTakenAwayIsSaidOnceAndCounts) {
  const int64_t ended = job(1 << 20);
  end(ended);
  put_file(folder_ + "/cut", "in the way");
  std::optional<LogKeeper> keeper;
  keeper.emplace(*service_, *governor_, options_, LogRules{.keep = {}, .most = Bytes::of(1), .clients = {}});
  EXPECT_TRUE(comes_true([&] { return keeper->uses()["acme"].bytes > Bytes(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // some looks more
  keeper.reset();
  EXPECT_TRUE(is_there(ended));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("cannot be made"))) << "once";
}

}  // namespace
}  // namespace stint
