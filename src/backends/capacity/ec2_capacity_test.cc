// An EC2 of the test's own answers; moto, an EC2 of others, is in tests/clouds.
#include "backends/capacity/ec2_capacity.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "clouds/testing_service.h"
#include "host/http_target.h"

namespace stint {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string instance(std::string_view id, std::string_view name, std::string_view state, std::string_view more = "") {
  return fmt::format(
      "<item><instanceId>{}</instanceId><instanceState><name>{}</name></instanceState><tagSet><item><key>stint:machine</key>"
      "<value>{}</value></item></tagSet>{}</item>",
      id, state, name, more);
}

/// EC2 as a form goes in: the test says what each action answers.
class Ec2CapacityTest : public ::testing::Test {
 protected:
  static std::string list_of(const std::string& instances) {
    return fmt::format(
        "<DescribeInstancesResponse><reservationSet><item><instancesSet>{}</instancesSet></item></reservationSet>"
        "</DescribeInstancesResponse>",
        instances);
  }
  static std::string done(std::string_view action) { return fmt::format("<{}Response/>", action); }
  static HttpReply refused(int status, std::string_view code) {
    return {.status = status, .body = fmt::format("<Response><Errors><Error><Code>{}</Code></Error></Errors></Response>", code)};
  }
  static HttpReply xml(std::string body) { return {.content_type = "text/xml", .body = std::move(body)}; }
  static std::string field(const HttpRequest& request, std::string_view name) {
    for (const std::string_view pair : split(request.body, '&'))
      if (pair.starts_with(std::string(name) + "=")) return unescape_url(pair.substr(name.size() + 1)).value_or("");
    return "";
  }

  Ec2Capacity& capacity(Ec2Settings settings = {.places = {{.region = "eu-north-1", .image = "ami-1"}}}) {
    capacity_ = std::make_unique<Ec2Capacity>(std::move(settings), pools_, "stint-me", std::function<void()>(),
                                              CloudCapacityOptions{.environment = environment_});
    return *capacity_;
  }
  CapacityHeard heard() {
    capacity_->wait();
    return capacity_->hear({});
  }
  static CreateOrder order(std::vector<std::string> names) {
    CreateOrder order{.call = 7, .names = std::move(names), .pool = "spot", .machine = {}, .owner = "stint-me"};
    order.machine.instance_type = "p5.48xlarge";
    order.machine.region = "eu-north-1";
    order.machine.zone = "eu-north-1a";
    order.machine.market = Market::kSpot;
    return order;
  }
  std::vector<HttpRequest> asked(std::string_view action) const {
    std::vector<HttpRequest> found;
    for (HttpRequest& request : service_.requests())
      if (field(request, "Action") == action) found.push_back(std::move(request));
    return found;
  }

  std::map<std::string, std::function<HttpReply(const HttpRequest&)>> answers_;
  TestingService service_{[this](const HttpRequest& request) {
    const std::string action = field(request, "Action");
    const auto answer = answers_.find(action);
    return answer == answers_.end() ? xml(done(action)) : answer->second(request);
  }};
  Environment environment_ = [this](const std::string& name) -> std::string {
    if (name == "AWS_ENDPOINT_URL_EC2") return service_.url();
    if (name == "AWS_ACCESS_KEY_ID") return "AKIATEST";
    return name == "AWS_SECRET_ACCESS_KEY" ? "secret" : "";
  };
  std::vector<CapacityPool> pools_ = {[] {
    CapacityPool pool{.name = "spot", .machine = order({}).machine};
    pool.limit = Rate::per_hour(Money::units(40));
    return pool;
  }()};
  std::unique_ptr<Ec2Capacity> capacity_;
};

TEST_F(Ec2CapacityTest, MakesEachMachineUnderItsNameAndOurMark) {
  answers_["RunInstances"] = [](const HttpRequest&) {
    return xml("<RunInstancesResponse><instancesSet>" + instance("i-1", "", "pending") +
               "</instancesSet></RunInstancesResponse>");
  };
  CreateOrder two = order({"burst-1", "burst-2"});
  two.ends_after = kHour;
  capacity({.places = {{.region = "eu-north-1", .image = "ami-1", .subnets = {{"eu-north-1a", "subnet-a"}}}},
            .tags = {{"team", "ml"}}})
      .create(two, {});
  std::vector<CapacityAnswer> answers;
  while (answers.size() < 2)
    std::ranges::move(heard().answers, std::back_inserter(answers));
  for (const CapacityAnswer& answer : answers) {
    EXPECT_EQ(answer.outcome, CapacityOutcome::kMade);
    EXPECT_EQ(answer.call, 7);
  }
  const auto requests = asked("RunInstances");
  ASSERT_THAT(requests, SizeIs(2));
  EXPECT_NE(field(requests[0], "ClientToken"), field(requests[1], "ClientToken"));
  std::set<std::string> names;
  for (const HttpRequest& request : requests) {
    EXPECT_EQ(field(request, "TagSpecification.1.Tag.1.Key"), "stint:fleet");
    EXPECT_EQ(field(request, "TagSpecification.1.Tag.1.Value"), "stint-me");
    names.insert(field(request, "TagSpecification.1.Tag.2.Value"));
    EXPECT_EQ(field(request, "TagSpecification.1.Tag.4.Key"), "team");
    EXPECT_EQ(field(request, "SubnetId"), "subnet-a");
    EXPECT_EQ(field(request, "InstanceMarketOptions.SpotOptions.MaxPrice"), "40");
    EXPECT_EQ(field(request, "ClientToken"), ec2_token("stint-me", field(request, "TagSpecification.1.Tag.2.Value")));
  }
  EXPECT_THAT(names, ElementsAre("burst-1", "burst-2"));
}

TEST_F(Ec2CapacityTest, WhatCannotBeHadIsToldByClass) {
  const auto outcome = [&](int status, std::string_view code) {
    answers_["RunInstances"] = [=](const HttpRequest&) { return refused(status, code); };
    capacity().create(order({"burst-1"}), {});
    return heard().answers.at(0).outcome;
  };
  EXPECT_EQ(outcome(500, "InsufficientInstanceCapacity"), CapacityOutcome::kStockout);
  EXPECT_EQ(outcome(400, "VcpuLimitExceeded"), CapacityOutcome::kQuota);
  EXPECT_EQ(outcome(403, "UnauthorizedOperation"), CapacityOutcome::kCredentials);
  EXPECT_EQ(outcome(401, "AuthFailure"), CapacityOutcome::kCredentials);
  EXPECT_EQ(outcome(400, "InvalidAMIID.NotFound"), CapacityOutcome::kRefused);
  EXPECT_EQ(outcome(400, "Unsupported"), CapacityOutcome::kRefused);
  EXPECT_EQ(outcome(400, "IdempotentParameterMismatch"), CapacityOutcome::kUnknown) << "the machine may be there";
}

TEST(Ec2Outcome, ATryWithoutAnAnswerMayHaveDoneIt) {
  EXPECT_EQ(outcome_of({.failure = CloudFailure::kThrottled}), CapacityOutcome::kThrottled);
  EXPECT_EQ(outcome_of({.failure = CloudFailure::kThrottled, .may_be_done = true}), CapacityOutcome::kUnknown);
  EXPECT_EQ(outcome_of({.failure = CloudFailure::kStockout, .may_be_done = true}), CapacityOutcome::kUnknown);
  EXPECT_EQ(outcome_of({.failure = CloudFailure::kServer, .may_be_done = true}), CapacityOutcome::kUnknown);
}

TEST_F(Ec2CapacityTest, ListsAllThatBearsOurMarkWithItsState) {
  answers_["DescribeInstances"] = [](const HttpRequest&) {
    return xml(list_of(instance("i-1", "a", "pending") + instance("i-2", "b", "running") + instance("i-3", "c", "shutting-down") +
                       instance("i-4", "d", "terminated") + instance("i-5", "e", "stopped")));
  };
  capacity().list(3, {});
  const CapacityHeard all = heard();
  ASSERT_THAT(all.lists, SizeIs(1));
  EXPECT_THAT(all.lists[0].unread, IsEmpty());
  EXPECT_EQ(all.lists[0].call, 3);
  std::vector<std::pair<std::string, ListedState>> states;
  for (const ListedMachine& machine : all.lists[0].machines) {
    EXPECT_EQ(machine.owner, "stint-me");
    states.emplace_back(machine.name, machine.state);
  }
  EXPECT_THAT(states, ElementsAre(std::pair("a", ListedState::kComing), std::pair("b", ListedState::kReady),
                                  std::pair("c", ListedState::kGoing), std::pair("d", ListedState::kGoing),
                                  std::pair("e", ListedState::kGoing)));
  const auto lists = asked("DescribeInstances");
  EXPECT_EQ(field(lists[0], "Filter.1.Name"), "tag:stint:fleet");
  EXPECT_EQ(field(lists[0], "Filter.1.Value.1"), "stint-me");
  const auto ended = asked("TerminateInstances");
  ASSERT_THAT(ended, SizeIs(1)) << "what somebody stopped costs its disks";
  EXPECT_EQ(field(ended[0], "InstanceId.1"), "i-5");
}

TEST_F(Ec2CapacityTest, ARegionThatDoesNotAnswerIsSaidWithItsReason) {
  answers_["DescribeInstances"] = [](const HttpRequest& request) {
    const bool north = request.header("authorization")->find("/eu-north-1/") != std::string::npos;
    return north ? xml(list_of(instance("i-1", "a", "running"))) : refused(403, "UnauthorizedOperation");
  };
  capacity({.places = {{.region = "eu-north-1", .image = "ami-1"}, {.region = "eu-west-1", .image = "ami-2"}}}).list(3, {});
  const CapacityHeard all = heard();
  ASSERT_THAT(all.lists, SizeIs(1));
  ASSERT_THAT(all.lists[0].unread, SizeIs(1));
  EXPECT_EQ(all.lists[0].unread[0].provider, "aws");
  EXPECT_THAT(all.lists[0].unread[0].why, AllOf(HasSubstr("eu-west-1"), HasSubstr("UnauthorizedOperation")));
  EXPECT_THAT(all.lists[0].machines, SizeIs(1));
}

TEST_F(Ec2CapacityTest, EndsByNameAllThatBearItAndByIdThatOneAlone) {
  answers_["DescribeInstances"] = [](const HttpRequest&) {
    return xml(list_of(instance("i-1", "a", "running") + instance("i-2", "a", "pending") + instance("i-3", "b", "running") +
                       instance("i-4", "b", "running") + instance("i-5", "a", "terminated")));
  };
  capacity().destroy({.call = 4, .targets = {{.name = "a"}, {.name = "b", .id = "i-4"}, {.name = "none"}}}, {});
  const CapacityHeard all = heard();
  ASSERT_THAT(all.answers, SizeIs(3));
  for (const CapacityAnswer& answer : all.answers)
    EXPECT_EQ(answer.outcome, CapacityOutcome::kGone) << answer.name << answer.detail;
  const auto ended = asked("TerminateInstances");
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_THAT((std::vector{field(ended[0], "InstanceId.1"), field(ended[0], "InstanceId.2"), field(ended[0], "InstanceId.3"),
                           field(ended[0], "InstanceId.4")}),
              ElementsAre("i-1", "i-2", "i-4", ""));
}

TEST_F(Ec2CapacityTest, OneThatIsNotThereKeepsNoOtherFromEnding) {
  answers_["DescribeInstances"] = [](const HttpRequest&) {
    return xml(list_of(instance("i-1", "a", "running") + instance("i-2", "b", "running")));
  };
  std::atomic<int> ended = 0;
  answers_["TerminateInstances"] = [&ended](const HttpRequest& request) {
    if (request.body.find("i-2") != std::string::npos) return refused(400, "InvalidInstanceID.NotFound");
    ++ended;
    return xml(done("TerminateInstances"));
  };
  capacity().destroy({.call = 4, .targets = {{.name = "a"}, {.name = "b"}}}, {});
  for (const CapacityAnswer& answer : heard().answers)
    EXPECT_EQ(answer.outcome, CapacityOutcome::kGone) << answer.name;
  EXPECT_EQ(ended, 1);
}

TEST_F(Ec2CapacityTest, NotFoundAfterItWasMadeMeansWait) {
  answers_["RunInstances"] = [](const HttpRequest&) {
    return xml("<RunInstancesResponse><instancesSet>" + instance("i-1", "", "pending") +
               "</instancesSet></RunInstancesResponse>");
  };
  answers_["DescribeInstances"] = [](const HttpRequest&) { return xml(list_of("")); };
  answers_["TerminateInstances"] = [](const HttpRequest&) { return refused(400, "InvalidInstanceID.NotFound"); };
  capacity().create(order({"a"}), {});
  EXPECT_EQ(heard().answers.at(0).outcome, CapacityOutcome::kMade);
  capacity_->destroy({.call = 8, .targets = {{.name = "a"}}}, {});
  const CapacityAnswer answer = heard().answers.at(0);
  EXPECT_EQ(answer.outcome, CapacityOutcome::kUnknown);
  EXPECT_THAT(answer.detail, HasSubstr("does not find it yet"));
  answers_["TerminateInstances"] = [](const HttpRequest&) { return xml(done("TerminateInstances")); };
  capacity_->destroy({.call = 9, .targets = {{.name = "a"}}}, {});
  EXPECT_EQ(heard().answers.at(0).outcome, CapacityOutcome::kGone) << "by the id that EC2 gave it";
}

TEST_F(Ec2CapacityTest, WhatTheListCannotSayIsNotTakenForGone) {
  answers_["DescribeInstances"] = [](const HttpRequest&) { return refused(503, "RequestLimitExceeded"); };
  capacity().destroy({.call = 4, .targets = {{.name = "a"}}}, {});
  EXPECT_EQ(heard().answers.at(0).outcome, CapacityOutcome::kUnknown);
}

TEST_F(Ec2CapacityTest, SpotPricesAreOffers) {
  answers_["DescribeSpotPriceHistory"] = [](const HttpRequest&) {
    const auto price = [](std::string_view zone, std::string_view much) {
      return fmt::format(
          "<item><instanceType>p5.48xlarge</instanceType><productDescription>Linux/UNIX</productDescription><spotPrice>{}"
          "</spotPrice><timestamp>2026-11-20T00:00:00Z</timestamp><availabilityZone>{}</availabilityZone></item>",
          much, zone);
    };
    return xml("<DescribeSpotPriceHistoryResponse><spotPriceHistorySet>" + price("eu-north-1a", "29.5") +
               price("eu-north-1b", "31") + "</spotPriceHistorySet></DescribeSpotPriceHistoryResponse>");
  };
  CapacityPool anywhere = pools_.front();
  anywhere.name = "anywhere";
  anywhere.machine.zone.clear();
  pools_.push_back(anywhere);
  capacity().offer({});
  const CapacityHeard all = heard();
  ASSERT_THAT(all.offers, SizeIs(2));
  EXPECT_EQ(all.offers[0].pool, "spot");
  EXPECT_EQ(all.offers[0].rate->per_hour().to_decimal(), "29.5");
  EXPECT_EQ(all.offers[1].rate->per_hour().to_decimal(), "31") << "EC2 picks the zone: the dearest";
}

/// @param places  type and zone of each
std::string sold(const std::vector<std::pair<std::string, std::string>>& places) {
  std::string items;
  for (const auto& [type, zone] : places)
    items += fmt::format(
        "<item><instanceType>{}</instanceType><locationType>availability-zone</locationType><location>{}</location></item>", type,
        zone);
  return "<DescribeInstanceTypeOfferingsResponse><instanceTypeOfferingSet>" + items +
         "</instanceTypeOfferingSet></DescribeInstanceTypeOfferingsResponse>";
}

TEST_F(Ec2CapacityTest, WhatIsNotSoldInAZoneCannotBeHadThere) {
  answers_["DescribeInstanceTypeOfferings"] = [](const HttpRequest&) { return xml(sold({{"p5.48xlarge", "eu-north-1b"}})); };
  CapacityPool elsewhere = pools_.front();
  elsewhere.name = "elsewhere";
  elsewhere.machine.zone = "eu-north-1b";
  elsewhere.machine.market = Market::kOnDemand;
  CapacityPool anywhere = elsewhere;
  anywhere.name = "anywhere";
  anywhere.machine.zone.clear();
  pools_ = {pools_.front(), elsewhere, anywhere};
  capacity().offer({});
  const CapacityHeard all = heard();
  ASSERT_THAT(all.offers, SizeIs(1)) << "of the others nothing new is known";
  EXPECT_EQ(all.offers[0].pool, "spot");
  EXPECT_EQ(all.offers[0].quota_left, 0);
  // Who may not ask knows nothing.
  answers_["DescribeInstanceTypeOfferings"] = [](const HttpRequest&) { return refused(403, "UnauthorizedOperation"); };
  capacity_->offer({});
  EXPECT_THAT(heard().offers, IsEmpty());
}

TEST_F(Ec2CapacityTest, ASpotMachineAboutToBeTakenBackIsANotice) {
  answers_["DescribeInstances"] = [](const HttpRequest&) {
    return xml(list_of(instance("i-1", "a", "running", "<instanceLifecycle>spot</instanceLifecycle>")));
  };
  answers_["DescribeSpotInstanceRequests"] = [](const HttpRequest&) {
    const auto marked = [](std::string_view id) {
      return fmt::format(
          "<item><instanceId>{}</instanceId><status><code>marked-for-termination</code>"
          "<updateTime>2026-11-20T04:32:53Z</updateTime></status></item>",
          id);
    };
    return xml("<DescribeSpotInstanceRequestsResponse><spotInstanceRequestSet>" + marked("i-1") + marked("i-others") +
               "</spotInstanceRequestSet></DescribeSpotInstanceRequestsResponse>");
  };
  capacity().list(1, {});
  const CapacityHeard all = heard();
  ASSERT_THAT(all.notices, SizeIs(1));
  EXPECT_EQ(all.notices[0].name, "a");
  EXPECT_EQ(format_utc(*all.notices[0].until), "2026-11-20T04:34:53Z");
}

TEST_F(Ec2CapacityTest, WithoutKeysNothingIsDoneAndItSaysWhy) {
  environment_ = [this](const std::string& name) -> std::string {
    return name == "AWS_ENDPOINT_URL_EC2" ? service_.url() : name == "AWS_EC2_METADATA_DISABLED" ? "true" : "";
  };
  capacity().create(order({"a"}), {});
  const CapacityAnswer answer = heard().answers.at(0);
  EXPECT_EQ(answer.outcome, CapacityOutcome::kCredentials);
  EXPECT_THAT(answer.detail, HasSubstr("no AWS credentials"));
  EXPECT_THAT(service_.requests(), IsEmpty());
}

TEST(Ec2Settings, TheRegionOfAZone) {
  EXPECT_EQ(ec2_region_of_zone("us-east-1a"), "us-east-1");
  EXPECT_EQ(ec2_region_of_zone("us-gov-west-1b"), "us-gov-west-1");
  EXPECT_EQ(ec2_region_of_zone("us-west-2-lax-1a"), "us-west-2");
  EXPECT_EQ(ec2_region_of_zone("ap-southeast-12c"), "ap-southeast-12");
  EXPECT_EQ(ec2_region_of_zone("us-east-1"), "") << "a region";
  EXPECT_EQ(ec2_region_of_zone("rack-7"), "");
  EXPECT_EQ(ec2_region_of_zone(""), "");
}

}  // namespace
}  // namespace stint
