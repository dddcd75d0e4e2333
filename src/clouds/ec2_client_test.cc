#include "clouds/ec2_client.h"

#include <gmock/gmock.h>

#include "clouds/testing_service.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kLaunched =
    "<RunInstancesResponse><instancesSet><item><instanceId>i-7</instanceId><instanceState><name>pending</name></instanceState></"
    "item>"
    "</instancesSet></RunInstancesResponse>";

std::string refusal(std::string_view code) {
  return fmt::format("<Response><Errors><Error><Code>{}</Code><Message>words</Message></Error></Errors></Response>", code);
}

/// EC2 played by `answers`, one for each request, the last for all that follow.
class Ec2ClientTest : public ::testing::Test {
 protected:
  struct Answer {
    int status = 200;
    std::string body;
  };
  std::unique_ptr<Ec2Client> client(std::vector<Answer> answers) {
    answers_ = std::move(answers);
    return std::make_unique<Ec2Client>(
        chain_, Ec2ClientOptions{.region = "eu-north-1", .environment = environment_, .sleep = [](Duration) {}});
  }
  static Ec2Launch launch() { return {.token = "t", .image = "ami-1", .instance_type = "p5.48xlarge"}; }

  std::vector<Answer> answers_;
  size_t asked_ = 0;
  TestingService service_{[this](const HttpRequest&) {
    const Answer& answer = answers_.at(std::min(asked_++, answers_.size() - 1));
    return HttpReply{.status = answer.status, .content_type = "text/xml", .body = answer.body};
  }};
  Environment environment_ = [this](const std::string& name) -> std::string {
    if (name == "AWS_ENDPOINT_URL_EC2") return service_.url();
    if (name == "AWS_ACCESS_KEY_ID") return "AKIATEST";
    return name == "AWS_SECRET_ACCESS_KEY" ? "secret" : "";
  };
  AwsCredentialChain chain_{{.environment = environment_}};
};

TEST_F(Ec2ClientTest, LaunchesWithASignatureOfItsRegion) {
  const Ec2Made made = client({{.body = kLaunched}})->launch(launch());
  ASSERT_FALSE(made.failure) << made.failure->text;
  EXPECT_EQ(made.instances.front().id, "i-7");
  const auto requests = service_.requests();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_THAT(requests[0].body, HasSubstr("Action=RunInstances&Version=2016-11-15"));
  ASSERT_NE(requests[0].header("authorization"), nullptr);
  EXPECT_THAT(*requests[0].header("authorization"), HasSubstr("/eu-north-1/ec2/aws4_request"));
}

TEST_F(Ec2ClientTest, AStockoutIsTriedOnceAndIsCertain) {
  const Ec2Made made = client({{500, refusal("InsufficientInstanceCapacity")}})->launch(launch());
  ASSERT_TRUE(made.failure);
  EXPECT_EQ(made.failure->failure, CloudFailure::kStockout);
  EXPECT_FALSE(made.failure->may_be_done);
  EXPECT_THAT(made.failure->text,
              HasSubstr("EC2 RunInstances in eu-north-1: out of stock (InsufficientInstanceCapacity: words)"));
  EXPECT_THAT(service_.requests(), SizeIs(1));
}

TEST_F(Ec2ClientTest, AQuotaSaysWhatToDo) {
  const Ec2Made made = client({{400, refusal("VcpuLimitExceeded")}})->launch(launch());
  EXPECT_EQ(made.failure->failure, CloudFailure::kQuota);
  EXPECT_THAT(made.failure->text, HasSubstr("Service Quotas"));
}

TEST_F(Ec2ClientTest, WhatAnErrorLeftOpenIsAskedAgainWithTheSameToken) {
  const Ec2Made made = client({{503, "<html>"}, {.body = kLaunched}})->launch(launch());
  ASSERT_FALSE(made.failure) << made.failure->text;
  const auto requests = service_.requests();
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_EQ(requests[0].body, requests[1].body);
}

TEST_F(Ec2ClientTest, ARefusalAfterAnErrorDoesNotSayThatNothingWasDone) {
  const Ec2Made made = client({{500, refusal("InternalError")}, {503, refusal("RequestLimitExceeded")}})->launch(launch());
  ASSERT_TRUE(made.failure);
  EXPECT_EQ(made.failure->failure, CloudFailure::kThrottled);
  EXPECT_TRUE(made.failure->may_be_done);
}

TEST_F(Ec2ClientTest, ThrottlingAloneIsNothingDone) {
  const Ec2Made made = client({{503, refusal("RequestLimitExceeded")}})->launch(launch());
  EXPECT_EQ(made.failure->failure, CloudFailure::kThrottled);
  EXPECT_FALSE(made.failure->may_be_done);
  EXPECT_THAT(service_.requests(), SizeIs(3));
}

TEST_F(Ec2ClientTest, AnAnswerThatIsNoneMayHaveDoneIt) {
  const Ec2Made made = client({{200, "<html>Welcome to the hotel</html>"}})->launch(launch());
  ASSERT_TRUE(made.failure);
  EXPECT_TRUE(made.failure->may_be_done);
  EXPECT_TRUE(client({{200, "<RunInstancesResponse/>"}})->launch(launch()).failure->may_be_done);
}

TEST_F(Ec2ClientTest, NoWholeAnswerMayHaveDoneIt) {
  auto options = Ec2ClientOptions{.region = "eu-north-1", .sleep = [](Duration) {}};
  options.environment = [this](const std::string& name) {
    return name == "AWS_ENDPOINT_URL_EC2" ? std::string("http://127.0.0.1:1") : environment_(name);
  };
  const Ec2Made made = Ec2Client(chain_, options).launch(launch());
  ASSERT_TRUE(made.failure);
  EXPECT_EQ(made.failure->failure, CloudFailure::kNetwork);
  EXPECT_TRUE(made.failure->may_be_done);
}

TEST_F(Ec2ClientTest, KeysThatAreRefusedNameTheirPlaceAndNotTheSecret) {
  const Ec2Made made = client({{401, refusal("AuthFailure")}})->launch(launch());
  EXPECT_EQ(made.failure->failure, CloudFailure::kCredential);
  EXPECT_FALSE(made.failure->may_be_done);
  EXPECT_THAT(made.failure->text, HasSubstr("the keys come from the environment"));
  EXPECT_THAT(made.failure->text, Not(HasSubstr("secret")));
  EXPECT_THAT(service_.requests(), SizeIs(2)) << "once more with renewed ones";
}

TEST_F(Ec2ClientTest, AListIsWholeOrAnError) {
  const auto page = [](std::string_view id, std::string_view next) {
    return fmt::format(
        "<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>{}</instanceId><instanceState>"
        "<name>running</name></instanceState></item></instancesSet></item></reservationSet><nextToken>{}</nextToken>"
        "</DescribeInstancesResponse>",
        id, next);
  };
  const auto found =
      client({{.body = page("i-1", "a")}, {.body = page("i-2", "b")}, {.body = page("i-3", "")}})->find({{"tag:k", {"v"}}});
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_THAT(*found, SizeIs(3));
  EXPECT_THAT(service_.requests()[1].body, HasSubstr("Filter.1.Name=tag%3Ak&Filter.1.Value.1=v&NextToken=a"));
  asked_ = 0;
  EXPECT_FALSE(client({{.body = page("i-1", "a")}, {403, refusal("UnauthorizedOperation")}})->find({}).ok());
  asked_ = 0;
  EXPECT_THAT(client({{.body = page("i-1", "a")}})->find({}).error().message, HasSubstr("no end"));
}

TEST_F(Ec2ClientTest, OfSpotPricesTheLatestCounts) {
  const auto item = [](std::string_view at, std::string_view price) {
    return fmt::format(
        "<item><instanceType>t</instanceType><productDescription>Linux/UNIX</productDescription><spotPrice>{}</spotPrice>"
        "<timestamp>{}</timestamp><availabilityZone>z</availabilityZone></item>",
        price, at);
  };
  const auto prices =
      client({{.body = fmt::format("<DescribeSpotPriceHistoryResponse><spotPriceHistorySet>{}{}{}</spotPriceHistorySet>"
                                   "</DescribeSpotPriceHistoryResponse>",
                                   item("2026-11-20T01:00:00Z", "3"), item("2026-11-20T02:00:00Z", "4"),
                                   item("2026-11-20T00:00:00Z", "5"))}})
          ->spot_prices({"t"});
  ASSERT_TRUE(prices.ok()) << prices.error().message;
  ASSERT_THAT(*prices, SizeIs(1));
  EXPECT_EQ(prices->front().rate.per_hour(), Money::units(4));
}

TEST_F(Ec2ClientTest, EndingOneThatIsNotThereIsTold) {
  const auto failure = client({{400, refusal("InvalidInstanceID.NotFound")}})->terminate({"i-1", "i-2"});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->failure, CloudFailure::kNotFound);
  EXPECT_THAT(service_.requests().front().body, HasSubstr("InstanceId.1=i-1&InstanceId.2=i-2"));
}

TEST_F(Ec2ClientTest, AnAddressThatIsNoneIsNamed) {
  const Environment wrong = [](const std::string& name) { return name == "AWS_ENDPOINT_URL_EC2" ? "moto" : ""; };
  const Ec2Made made = Ec2Client(chain_, {.region = "r", .environment = wrong}).launch(launch());
  ASSERT_TRUE(made.failure);
  EXPECT_FALSE(made.failure->may_be_done);
  EXPECT_THAT(made.failure->text, HasSubstr("AWS_ENDPOINT_URL_EC2 'moto'"));
}

}  // namespace
}  // namespace stint
