// The shapes are those of the Amazon EC2 API Reference.
#include "clouds/ec2_answers.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::HasSubstr;

constexpr const char* kInstances =
    R"(<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>8f7724cf</requestId>
<reservationSet><item><reservationId>r-1</reservationId><instancesSet>
<item><instanceId>i-1</instanceId><instanceState><code>16</code><name>running</name></instanceState><instanceType>p5.48xlarge</instanceType>
<placement><availabilityZone>us-east-1a</availabilityZone></placement><instanceLifecycle>spot</instanceLifecycle>
<tagSet><item><key>stint:machine</key><value>burst-1</value></item><item><key>empty</key><value/></item></tagSet></item></instancesSet></item>
<item><reservationId>r-2</reservationId><instancesSet><item><instanceId>i-2</instanceId>
<instanceState><code>48</code><name>terminated</name></instanceState><stateReason><code>Server.SpotInstanceTermination</code></stateReason></item>
</instancesSet></item></reservationSet><nextToken>AAAA</nextToken></DescribeInstancesResponse>)";

TEST(Ec2Answers, MachinesOfAllReservationsWithTheirTags) {
  const auto page = parse_ec2_instances(kInstances);
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_EQ(page->instances.size(), 2U);
  const Ec2Instance& first = page->instances[0];
  EXPECT_EQ(first.id, "i-1");
  EXPECT_EQ(first.state, Ec2State::kRunning);
  EXPECT_EQ(first.instance_type, "p5.48xlarge");
  EXPECT_EQ(first.zone, "us-east-1a");
  EXPECT_TRUE(first.spot);
  EXPECT_EQ(first.tag("stint:machine"), "burst-1");
  EXPECT_EQ(first.tag("none"), "");
  EXPECT_EQ(page->instances[1].state, Ec2State::kTerminated);
  EXPECT_EQ(page->instances[1].why, "Server.SpotInstanceTermination");
  EXPECT_FALSE(page->instances[1].spot);
  EXPECT_EQ(page->next, "AAAA");
}

TEST(Ec2Answers, WhatIsNoListIsNoEmptyList) {
  EXPECT_THAT(parse_ec2_instances("<html/>").error().message, HasSubstr("<html>"));
  EXPECT_FALSE(parse_ec2_instances("<DescribeInstancesResponse/>").ok());
  EXPECT_TRUE(parse_ec2_instances("<DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>")->instances.empty());
  const std::string asleep =
      "<DescribeInstancesResponse><reservationSet><item><instancesSet><item><instanceId>i-1</instanceId><instanceState>"
      "<name>asleep</name></instanceState></item></instancesSet></item></reservationSet></DescribeInstancesResponse>";
  EXPECT_THAT(parse_ec2_instances(asleep).error().message, HasSubstr("i-1 is 'asleep'"));
}

TEST(Ec2Answers, WhatWasLaunched) {
  const auto made = parse_ec2_launched(
      "<RunInstancesResponse><instancesSet><item><instanceId>i-7</instanceId><instanceState><code>0</code><name>pending</name>"
      "</instanceState></item></instancesSet></RunInstancesResponse>");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->front().id, "i-7");
  EXPECT_FALSE(parse_ec2_launched("<RunInstancesResponse><instancesSet/></RunInstancesResponse>").ok());
}

TEST(Ec2Answers, ZonesInWhichATypeIsSold) {
  const auto page = parse_ec2_offerings(
      "<DescribeInstanceTypeOfferingsResponse><instanceTypeOfferingSet>"
      "<item><instanceType>p5.48xlarge</instanceType><locationType>availability-zone</locationType><location>us-east-1b</"
      "location></item>"
      "<item><instanceType>p5.48xlarge</instanceType><locationType>region</locationType><location>us-east-1</location></item>"
      "</instanceTypeOfferingSet><nextToken>t</nextToken></DescribeInstanceTypeOfferingsResponse>");
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_EQ(page->offerings.size(), 1U);
  EXPECT_EQ(page->offerings[0].zone, "us-east-1b");
  EXPECT_EQ(page->next, "t");
  EXPECT_TRUE(parse_ec2_offerings(
                  "<DescribeInstanceTypeOfferingsResponse><instanceTypeOfferingSet/></DescribeInstanceTypeOfferingsResponse>")
                  .ok());
  EXPECT_FALSE(parse_ec2_offerings("<DescribeInstanceTypeOfferingsResponse/>").ok()) << "it does not say that nothing is sold";
  EXPECT_FALSE(
      parse_ec2_offerings("<DescribeInstanceTypeOfferingsResponse><instanceTypeOfferingSet><item><locationType>availability-zone"
                          "</locationType></item></instanceTypeOfferingSet></DescribeInstanceTypeOfferingsResponse>")
          .ok());
}

TEST(Ec2Answers, SpotPricesOfLinux) {
  const auto page = parse_ec2_spot_prices(
      "<DescribeSpotPriceHistoryResponse><spotPriceHistorySet>"
      "<item><instanceType>p5.48xlarge</instanceType><productDescription>Linux/UNIX</productDescription><spotPrice>29.734300</"
      "spotPrice>"
      "<timestamp>2026-11-20T04:32:53.000Z</timestamp><availabilityZone>us-east-1b</availabilityZone></item>"
      "<item><instanceType>p5.48xlarge</instanceType><productDescription>Windows</productDescription><spotPrice>39</spotPrice>"
      "<timestamp>2026-11-20T04:32:53.000Z</timestamp><availabilityZone>us-east-1b</availabilityZone></item>"
      "</spotPriceHistorySet><nextToken/></DescribeSpotPriceHistoryResponse>");
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_EQ(page->prices.size(), 1U);
  EXPECT_EQ(page->prices[0].rate.per_hour().to_decimal(), "29.7343");
  EXPECT_EQ(format_utc(page->prices[0].since), "2026-11-20T04:32:53Z");
  EXPECT_EQ(page->next, "");
  EXPECT_FALSE(parse_ec2_spot_prices("<DescribeSpotPriceHistoryResponse><spotPriceHistorySet><item><productDescription>Linux/UNIX"
                                     "</productDescription><spotPrice>-1</spotPrice></item></spotPriceHistorySet>"
                                     "</DescribeSpotPriceHistoryResponse>")
                   .ok());
}

TEST(Ec2Answers, SpotMachinesAboutToBeTakenBack) {
  const auto page = parse_ec2_spot_ends(
      "<DescribeSpotInstanceRequestsResponse><spotInstanceRequestSet>"
      "<item><instanceId>i-1</instanceId><status><code>marked-for-termination</code><updateTime>2026-11-20T04:32:53.000Z</"
      "updateTime></status></item>"
      "<item><instanceId>i-2</instanceId><status><code>fulfilled</code><updateTime>2026-11-20T04:32:53.000Z</updateTime></"
      "status></item>"
      "</spotInstanceRequestSet></DescribeSpotInstanceRequestsResponse>");
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_EQ(page->ends.size(), 1U);
  EXPECT_EQ(page->ends[0].instance, "i-1");
  EXPECT_EQ(format_utc(page->ends[0].told), "2026-11-20T04:32:53Z");
}

}  // namespace
}  // namespace stint
