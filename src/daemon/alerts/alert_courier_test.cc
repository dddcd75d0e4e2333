// A courier and a server that takes, refuses or is not there.
#include "daemon/alerts/alert_courier.h"

#include <gmock/gmock.h>

#include <filesystem>

#include <condition_variable>
#include <mutex>
#include <optional>

#include "host/http_server.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

/// Answers with the next of `statuses`, the last one for ever, and keeps what it was sent.
class AlertCourierTest : public ::testing::Test {
 protected:
  struct Sent {
    std::string target, key, body;
  };
  AlertCourierTest() {
    auto server = HttpServer::start({}, [this](HttpRequest request, Responder responder) {
      const std::lock_guard lock(mutex_);
      const std::string* key = request.header("idempotency-key");
      sent_.push_back({request.target, key == nullptr ? "" : *key, request.body});
      const int status = statuses_[std::min(sent_.size(), statuses_.size()) - 1];
      responder.reply({status, "text/plain", {}, "because"});
    });
    CHECK(server.ok(), "{}", server.error().message);
    server_.emplace(std::move(*server));
  }

  std::unique_ptr<AlertCourier> courier(AlertReceiver::Kind kind, std::vector<int> statuses) {
    statuses_ = std::move(statuses);
    AlertReceiver receiver;
    receiver.kind = kind;
    receiver.name = "r";
    receiver.url = server_->url() + (kind == AlertReceiver::Kind::kWebhook ? "/hook" : "");
    receiver.again = Duration::hours(1);
    AlertDelivery delivery;
    delivery.due = [this](const AlertAudience&, size_t) {
      const std::lock_guard lock(mutex_);
      return due_;
    };
    delivery.told = [this](std::vector<AlertWasTold> told) {
      const std::lock_guard lock(mutex_);
      for (const AlertWasTold& one : told)
        std::erase_if(due_, [&](const AlertNotice& n) { return n.id == one.id; });
      told_.notify_all();
    };
    delivery.next_due = [](const AlertAudience&) { return std::optional<Instant>(); };
    auto made = AlertCourier::create(receiver, "", std::move(delivery),
                                     {.first_pause = Duration::milliseconds(1), .longest_pause = Duration::milliseconds(2)});
    CHECK(made.ok(), "{}", made.error().message);
    (*made)->start();
    return std::move(*made);
  }
  void wait_until_told() {
    std::unique_lock lock(mutex_);
    told_.wait(lock, [this] { return due_.empty(); });
  }
  static AlertNotice notice(int64_t id) {
    AlertNotice n;
    n.id = id;
    n.key = "key-" + std::to_string(id);
    n.message.labels = {{"alertname", "A"}, {"severity", "warning"}};
    return n;
  }

  std::mutex mutex_;
  std::condition_variable told_;
  std::vector<AlertNotice> due_ = {notice(1), notice(2)};
  std::vector<Sent> sent_;
  std::vector<int> statuses_ = {200};
  std::optional<HttpServer> server_;
};

TEST_F(AlertCourierTest, WhatIsNotTakenIsRepeatedUnderTheSameKey) {
  const auto hook = courier(AlertReceiver::Kind::kWebhook, {503, 500, 200});
  wait_until_told();
  std::vector<std::string> keys;
  for (const Sent& sent : sent_)
    keys.push_back(sent.key);
  EXPECT_THAT(keys, ::testing::ElementsAre("key-1", "key-1", "key-1", "key-2"));
  EXPECT_EQ(hook->state().failed, 2);
  EXPECT_EQ(hook->state().delivered, 2);
  EXPECT_EQ(hook->state().last_error, "");
}

TEST_F(AlertCourierTest, WhatIsRefusedForGoodDoesNotHoldUpTheRest) {
  const auto hook = courier(AlertReceiver::Kind::kWebhook, {400, 400, 400, 400, 400, 200});
  wait_until_told();
  EXPECT_EQ(sent_.size(), 6U);
  EXPECT_EQ(sent_.back().key, "key-2");
  EXPECT_EQ(hook->state().refused, 1);
}

TEST_F(AlertCourierTest, AnAlertmanagerGetsListsThatEndByThemselves) {
  const auto manager = courier(AlertReceiver::Kind::kAlertmanager, {503, 200});
  wait_until_told();
  ASSERT_EQ(sent_.size(), 2U);
  EXPECT_EQ(sent_[0].target, "/api/v2/alerts");
  EXPECT_THAT(sent_[1].body, HasSubstr("endsAt"));
}

TEST_F(AlertCourierTest, AMissingSecretIsSaidBeforeAnythingIsSent) {
  ScratchDir dir;
  AlertReceiver receiver;
  receiver.url = server_->url();
  receiver.secret_file = dir / "none";
  EXPECT_FALSE(AlertCourier::create(receiver, "", {}).ok());
  put_file(dir / "empty", "\n");
  receiver.secret_file = dir / "empty";
  EXPECT_THAT(AlertCourier::create(receiver, "", {}).error().message, HasSubstr("others than its owner may read it"));
  std::filesystem::permissions(dir / "empty", std::filesystem::perms::owner_read);
  receiver.secret_file = dir / "empty";
  const auto empty = AlertCourier::create(receiver, "", {});
  ASSERT_FALSE(empty.ok());
  EXPECT_THAT(empty.error().message, HasSubstr("is empty"));
}

}  // namespace
}  // namespace stint
