// The desk over restarts: what it wrote is the same book again, however often, and does not grow for ever.
#include "daemon/alerts/alert_desk.h"

#include <gtest/gtest.h>

#include <future>

#include "daemon/alerts/alert_journal.h"
#include "daemon/testing_daemon.h"
#include "host/clock.h"

namespace stint {
namespace {

std::vector<std::string> alert_rows(const std::string& path) {
  auto log = EventLog::open(path);
  CHECK(log.ok(), "{}", log.error().message);
  std::vector<std::string> rows;
  const Status read = log->read_side_rows(kAlertStream, 0, INT64_MAX, [&rows](int64_t, std::string_view row) -> Status {
    rows.emplace_back(row);
    return {};
  });
  CHECK(read.ok(), "{}", read.error().message);
  return rows;
}

/// A service and a desk on the log in `path`, made anew each time.
class DeskTest : public ::testing::Test {
 protected:
  void start() {
    const std::vector<std::string> rows = alert_rows(path_);
    auto log = EventLog::open(path_);
    CHECK(log.ok(), "{}", log.error().message);
    log_.emplace(std::move(*log));
    const Instant last_at = log_->last_at();
    auto engine = Engine::open(*log_, backend_, testing_fleet(), {}, std::max(now(), last_at));
    CHECK(engine.ok(), "{}", engine.error().message);
    service_ = std::make_unique<Service>(std::move(*engine), backend_, EventClock(last_at));
    auto desk = AlertDesk::open(*service_, {}, rows,
                                {.live = nullptr, .findings = nullptr, .last_at = last_at, .couriers = {}, .rows_at_least = 40});
    CHECK(desk.ok(), "{}", desk.error().message);
    desk_ = std::move(*desk);
  }
  void stop() {
    desk_.reset();
    service_->stop();
    service_.reset();
    log_.reset();
  }
  ~DeskTest() override { stop(); }

  Silence silence(const std::string& node) {
    std::promise<Result<Silence>> done;
    desk_->silence({.matchers = {{"node", node, false}}, .from = now(), .until = now() + kHour, .by = "ada", .comment = "fan"},
                   [&done](Result<Silence> made) { done.set_value(std::move(made)); });
    auto made = done.get_future().get();
    CHECK(made.ok(), "{}", made.error().message);
    return *made;
  }
  void expire(int64_t id) {
    std::promise<Status> done;
    desk_->expire(id, [&done](const Result<Silence>& made) { done.set_value(made.ok() ? Status() : Status(made.error())); });
    const Status expired = done.get_future().get();
    CHECK(expired.ok(), "{}", expired.error().message);
  }

  ScratchDir dir_;
  std::string path_ = dir_ / "events.db";
  SimulatedBackend backend_;
  std::optional<EventLog> log_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<AlertDesk> desk_;
};

TEST_F(DeskTest, WritesItsRowsAnewWhenMostAreNoLongerNeeded) {
  start();
  for (int i = 0; i < 10; ++i) {
    const int64_t id = silence(fmt::format("n{}", i)).id;
    for (int times = 0; times < 5; ++times)
      expire(id);
  }
  const std::vector<Silence> before = desk_->silences();
  EXPECT_EQ(before.size(), 10U);
  stop();
  // 60 rows were written; the book is 11.
  EXPECT_LT(alert_rows(path_).size(), 40U);
  start();
  EXPECT_EQ(desk_->silences(), before);
  EXPECT_EQ(silence("n11").id, 11) << "ids go on";
}

}  // namespace
}  // namespace stint
