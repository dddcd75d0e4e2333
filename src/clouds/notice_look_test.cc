#include "clouds/notice_look.h"

#include <gtest/gtest.h>

#include <atomic>

#include "clouds/testing_service.h"

namespace stint {
namespace {

Environment at(const TestingService& service) {
  return [url = service.url()](const std::string& name) { return name == "STINT_METADATA_ADDRESS" ? url : std::string(); };
}

std::string header_of(const HttpRequest& request, std::string_view name) {
  for (const auto& [header, value] : request.headers)
    if (header == name) return value;
  return "";
}

HttpReply reply(int status, std::string body, std::vector<HttpField> headers = {}) {
  HttpReply r;
  r.status = status;
  r.body = std::move(body);
  r.headers = std::move(headers);
  return r;
}

TEST(NoticeLook, AwsNeedsATokenAndRenewsOneThatIsRefused) {
  std::atomic<int> tokens = 0;
  TestingService service([&](const HttpRequest& r) {
    if (r.target == "/latest/api/token")
      return header_of(r, "x-aws-ec2-metadata-token-ttl-seconds").empty() ? reply(400, "")
                                                                          : reply(200, "t" + std::to_string(++tokens));
    if (header_of(r, "x-aws-ec2-metadata-token") != "t2") return reply(401, "");
    if (r.target.ends_with("rebalance")) return reply(404, "<html>");
    return reply(200, R"({"action":"terminate","time":"2027-01-01T00:02:00Z"})");
  });
  const auto look = open_notice_look(CloudProvider::kAws, at(service)).value();
  const auto seen = look->look();
  ASSERT_TRUE(seen.ok()) << seen.error().message;
  EXPECT_EQ(seen->notice.what, "terminate");
  EXPECT_GE(seen->left, Duration());
  EXPECT_LE(seen->left, Duration::minutes(2)) << "whatever the clock of this machine says";
  EXPECT_EQ(tokens, 2);
  ASSERT_TRUE(look->look().ok());
  EXPECT_EQ(tokens, 2) << "a token is kept";
}

TEST(NoticeLook, AwsWithoutANoticeHasNone) {
  std::atomic<bool> rebalance = false;
  TestingService service([&](const HttpRequest& r) {
    if (r.target == "/latest/api/token") return reply(200, "t");
    if (rebalance && r.target.ends_with("rebalance")) return reply(200, R"({"noticeTime":"2027-01-01T00:00:00Z"})");
    return reply(404, "<html>");
  });
  const auto look = open_notice_look(CloudProvider::kAws, at(service)).value();
  EXPECT_EQ(look->look()->notice.kind, CloudNoticeKind::kNone);
  rebalance = true;
  EXPECT_EQ(look->look()->notice.kind, CloudNoticeKind::kRebalance);
}

TEST(NoticeLook, NoAnswerIsNotTheSameAsNoNotice) {
  std::atomic<int> status = 500;
  TestingService service([&](const HttpRequest& r) {
    if (r.target == "/latest/api/token") return reply(200, "t");
    return reply(status, "no json");
  });
  const auto look = open_notice_look(CloudProvider::kAws, at(service)).value();
  for (const int s : {500, 503, 200, 403, 401}) {
    status = s;
    EXPECT_FALSE(look->look().ok()) << s;
  }
}

TEST(NoticeLook, GoogleIsAskedToWaitForAChange) {
  TestingService service([&](const HttpRequest& r) {
    if (header_of(r, "metadata-flavor") != "Google") return reply(403, "");
    const bool waits = r.target.find("wait_for_change=true") != std::string::npos;
    if (r.target.find("/preempted") != std::string::npos)
      return reply(200, waits ? "TRUE" : "FALSE", {{"Metadata-Flavor", "Google"}, {"ETag", waits ? "b" : "a1"}});
    return reply(200, "NONE", {{"Metadata-Flavor", "Google"}});
  });
  const auto look = open_notice_look(CloudProvider::kGoogle, at(service)).value();
  EXPECT_EQ(look->look()->notice.kind, CloudNoticeKind::kNone);
  const auto seen = look->look();
  ASSERT_TRUE(seen.ok()) << seen.error().message;
  EXPECT_EQ(seen->notice.what, "preempted");
  EXPECT_EQ(seen->left, Duration::seconds(30));
  EXPECT_NE(service.requests().back().target.find("last_etag=a1"), std::string::npos);
}

TEST(NoticeLook, WhoeverElseAnswersIsNotGoogle) {
  TestingService service([&](const HttpRequest&) { return reply(200, "FALSE"); });
  const auto look = open_notice_look(CloudProvider::kGoogle, at(service)).value();
  EXPECT_FALSE(look->look().ok());
}

TEST(NoticeLook, AzureNamesThisMachineAndTakesAnAcknowledgement) {
  TestingService service([&](const HttpRequest& r) {
    if (header_of(r, "metadata") != "true") return reply(400, "");
    if (r.method == "POST") return reply(200, "");
    if (r.target.starts_with("/metadata/instance/compute/name")) return reply(200, "vm_1");
    return reply(200,
                 R"({"DocumentIncarnation":1,"Events":[{"EventId":"E-1","EventType":"Preempt","ResourceType":"VirtualMachine",
      "Resources":["vm_1"],"EventStatus":"Scheduled","NotBefore":"Mon, 19 Sep 2016 18:29:47 GMT"}]})",
                 {{"Date", "Mon, 19 Sep 2016 18:29:07 GMT"}});
  });
  const auto look = open_notice_look(CloudProvider::kAzure, at(service)).value();
  const auto seen = look->look();
  ASSERT_TRUE(seen.ok()) << seen.error().message;
  EXPECT_EQ(seen->left, Duration::seconds(40)) << "by Azure's clock";
  ASSERT_TRUE(acknowledge_azure_notice(seen->notice.id, at(service)).ok());
  EXPECT_EQ(service.requests().back().body, R"({"StartRequests":[{"EventId":"E-1"}]})");
}

}  // namespace
}  // namespace stint
