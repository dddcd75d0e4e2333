#include "clouds/cloud_notice.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

Instant at(const char* text) { return parse_instant(text).value(); }

TEST(CloudNotice, AwsSaysWhatAndWhen) {
  // The example of AWS's documentation.
  const auto notice = parse_aws_instance_action(R"({"action": "terminate", "time": "2017-09-18T08:22:00Z"})");
  ASSERT_TRUE(notice.ok()) << notice.error().message;
  EXPECT_EQ(notice->kind, CloudNoticeKind::kTaken);
  EXPECT_EQ(notice->what, "terminate");
  EXPECT_EQ(time_left(*notice, at("2017-09-18T08:20:10Z")), Duration::seconds(110));
  EXPECT_EQ(parse_aws_instance_action(R"({"action":"stop","time":"2017-09-18T08:22:00Z"})")->what, "stop");
}

TEST(CloudNotice, WhatMakesNoSenseIsNoNotice) {
  for (const char* text : {"", "<html>", "[]", R"({"action":"dance","time":"2017-09-18T08:22:00Z"})", R"({"action":"stop"})",
                           R"({"action":"stop","time":7})", R"({"action":"stop","time":"soon"})"})
    EXPECT_FALSE(parse_aws_instance_action(text).ok()) << text;
  EXPECT_FALSE(parse_aws_rebalance(R"({"noticeTime":"later"})").ok());
  EXPECT_FALSE(parse_google_preempted("<html>").ok());
  EXPECT_FALSE(parse_google_preempted("").ok());
  EXPECT_FALSE(parse_google_maintenance("PERHAPS").ok());
  for (const char* text :
       {"", "{}", R"({"Events":7})", R"({"Events":[{"EventType":"Preempt","EventStatus":"Scheduled"}]})",
        R"({"Events":[{"EventType":"Preempt","EventStatus":"Scheduled","Resources":["m"],"NotBefore":"soon"}]})"})
    EXPECT_FALSE(parse_azure_events(text, "m").ok()) << text;
}

TEST(CloudNotice, AClockThatIsOffIsNotBelieved) {
  const CloudNotice notice = parse_aws_instance_action(R"({"action":"terminate","time":"2027-01-01T12:02:00Z"})").value();
  EXPECT_EQ(time_left(notice, at("2027-01-01T12:01:00Z")), Duration::seconds(60));
  EXPECT_EQ(time_left(notice, at("2027-01-01T12:02:10Z")), Duration()) << "a little late is late";
  EXPECT_EQ(time_left(notice, at("2027-01-01T11:59:50Z")), Duration::minutes(2)) << "never more than AWS gives";
  EXPECT_EQ(time_left(notice, at("2027-01-01T11:02:00Z")), Duration::seconds(115)) << "set back by an hour";
  EXPECT_EQ(time_left(notice, at("2027-01-01T13:02:00Z")), Duration::seconds(115)) << "an hour ahead";
}

TEST(CloudNotice, Rebalance) {
  const auto notice = parse_aws_rebalance(R"({"noticeTime":"2020-10-27T08:22:00Z"})");
  ASSERT_TRUE(notice.ok());
  EXPECT_EQ(notice->kind, CloudNoticeKind::kRebalance);
}

TEST(CloudNotice, GoogleTellsNoTime) {
  EXPECT_EQ(parse_google_preempted("FALSE\n")->kind, CloudNoticeKind::kNone);
  const auto taken = parse_google_preempted("TRUE");
  EXPECT_EQ(taken->kind, CloudNoticeKind::kTaken);
  EXPECT_EQ(time_left(*taken, Instant()), Duration::seconds(30));
  EXPECT_EQ(parse_google_maintenance("NONE")->kind, CloudNoticeKind::kNone);
  EXPECT_EQ(parse_google_maintenance("MIGRATE_ON_HOST_MAINTENANCE")->kind, CloudNoticeKind::kNone) << "it goes on elsewhere";
  const auto ends = parse_google_maintenance("TERMINATE_ON_HOST_MAINTENANCE");
  EXPECT_EQ(ends->kind, CloudNoticeKind::kMaintenance);
  EXPECT_EQ(time_left(*ends, Instant()), Duration::hours(1));
}

std::string azure_event(const std::string& type, const std::string& resources, const std::string& not_before,
                        const std::string& status = "Scheduled") {
  return R"({"EventId":"id-)" + type + R"(","EventType":")" + type + R"(","ResourceType":"VirtualMachine","Resources":[)" +
         resources + R"(],"EventStatus":")" + status + R"(","NotBefore":")" + not_before + R"(","DurationInSeconds":-1})";
}
std::string azure_answer(const std::string& events) { return R"({"DocumentIncarnation":2,"Events":[)" + events + "]}"; }

TEST(CloudNotice, AzureTellsOfOthersToo) {
  const std::string when = "Mon, 19 Sep 2016 18:29:47 GMT";
  const auto ours = parse_azure_events(azure_answer(azure_event("Preempt", R"("VM1")", when)), "vm1");
  ASSERT_TRUE(ours.ok()) << ours.error().message;
  EXPECT_EQ(ours->kind, CloudNoticeKind::kTaken);
  EXPECT_EQ(ours->id, "id-Preempt");
  EXPECT_TRUE(ours->alone);
  EXPECT_EQ(time_left(*ours, at("2016-09-19T18:29:07Z")), Duration::seconds(40));
  EXPECT_EQ(parse_azure_events(azure_answer(azure_event("Preempt", R"("vm2")", when)), "vm1")->kind, CloudNoticeKind::kNone);
  EXPECT_FALSE(parse_azure_events(azure_answer(azure_event("Reboot", R"("vm1","vm2")", when)), "vm1")->alone);
  EXPECT_EQ(parse_azure_events(azure_answer(azure_event("Freeze", R"("vm1")", when)), "vm1")->kind, CloudNoticeKind::kNone);
  EXPECT_EQ(parse_azure_events(azure_answer(azure_event("Preempt", R"("vm1")", when, "Completed")), "vm1")->kind,
            CloudNoticeKind::kNone);
  EXPECT_EQ(parse_azure_events(azure_answer(""), "vm1")->kind, CloudNoticeKind::kNone);
}

TEST(CloudNotice, OfSeveralAzureEventsTheFirstToComeCounts) {
  const std::string later = azure_event("Reboot", R"("m")", "Mon, 19 Sep 2016 18:40:00 GMT");
  const std::string sooner = azure_event("Preempt", R"("m")", "Mon, 19 Sep 2016 18:30:00 GMT");
  const std::string begun = azure_event("Redeploy", R"("m")", "", "Started");
  EXPECT_EQ(parse_azure_events(azure_answer(later + "," + sooner), "m")->what, "Preempt");
  EXPECT_EQ(parse_azure_events(azure_answer(sooner + "," + later), "m")->what, "Preempt");
  const auto now = parse_azure_events(azure_answer(later + "," + begun + "," + sooner), "m");
  EXPECT_EQ(now->what, "Redeploy");
  EXPECT_EQ(time_left(*now, Instant()), Duration()) << "it has begun";
}

}  // namespace
}  // namespace stint
