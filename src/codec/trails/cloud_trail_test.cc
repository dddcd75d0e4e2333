#include "codec/trails/cloud_trail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Records have the fields that the providers' documentation shows for them, shortened.
constexpr std::string_view kCloudTrail = R"({"Records": [
  {"eventVersion": "1.08", "userIdentity": {"type": "IAMUser", "principalId": "AIDA6", "arn": "arn:aws:iam::777788889999:user/mary",
   "accountId": "777788889999", "userName": "mary"}, "eventTime": "2026-10-01T08:00:00Z", "eventSource": "ec2.amazonaws.com",
   "eventName": "RunInstances", "awsRegion": "us-east-1", "sourceIPAddress": "192.0.2.7", "userAgent": "aws-cli/2.13.5",
   "requestParameters": {"instancesSet": {"items": [{"imageId": "ami-1", "minCount": 2, "maxCount": 2}]}, "instanceType": "p4d.24xlarge"},
   "responseElements": {"instancesSet": {"items": [{"instanceId": "i-0a"}, {"instanceId": "i-0b"}]}}},
  {"eventVersion": "1.08", "userIdentity": {"type": "AssumedRole", "arn": "arn:aws:sts::777788889999:assumed-role/Trainers/ann"},
   "eventTime": "2026-10-02T08:00:00Z", "eventSource": "ec2.amazonaws.com", "eventName": "StartInstances", "sourceIPAddress": "192.0.2.8",
   "requestParameters": {"instancesSet": {"items": [{"instanceId": "i-0a"}]}}, "responseElements": {"instancesSet": {"items": [
     {"instanceId": "i-0a", "currentState": {"code": 0, "name": "pending"}}]}}},
  {"userIdentity": {"type": "AWSService", "invokedBy": "autoscaling.amazonaws.com"}, "eventTime": "2026-10-03T08:00:00Z",
   "eventSource": "ec2.amazonaws.com", "eventName": "TerminateInstances", "sourceIPAddress": "autoscaling.amazonaws.com",
   "requestParameters": {"instancesSet": {"items": [{"instanceId": "i-0b"}]}}, "responseElements": null},
  {"userIdentity": {"type": "Root", "accountId": "777788889999"}, "eventTime": "2026-10-04T08:00:00Z", "eventSource": "ec2.amazonaws.com",
   "eventName": "RunInstances", "errorCode": "Client.InsufficientInstanceCapacity", "requestParameters": {"instancesSet": {"items": [{}]}}},
  {"userIdentity": {"type": "IAMUser", "userName": "mary"}, "eventTime": "2026-10-05T08:00:00Z", "eventSource": "s3.amazonaws.com",
   "eventName": "GetObject"}]})";

constexpr std::string_view kGcp = R"([
  {"insertId": "a", "logName": "projects/p/logs/cloudaudit.googleapis.com%2Factivity", "timestamp": "2026-10-01T08:00:00.5Z",
   "resource": {"type": "gce_instance", "labels": {"instance_id": "123", "zone": "europe-west4-a"}}, "operation": {"id": "op-1", "first": true},
   "protoPayload": {"@type": "type.googleapis.com/google.cloud.audit.AuditLog", "authenticationInfo": {"principalEmail": "ann@example.org"},
     "methodName": "v1.compute.instances.insert", "resourceName": "projects/p/zones/europe-west4-a/instances/gpu-1",
     "requestMetadata": {"callerIp": "192.0.2.9", "callerSuppliedUserAgent": "Terraform/1.5"}}},
  {"timestamp": "2026-10-01T08:00:20Z", "operation": {"id": "op-1", "last": true}, "protoPayload": {
     "authenticationInfo": {"principalEmail": "ann@example.org"}, "methodName": "v1.compute.instances.insert",
     "resourceName": "projects/p/zones/europe-west4-a/instances/gpu-1"}},
  {"timestamp": "2026-10-02T08:00:00Z", "protoPayload": {"authenticationInfo": {"principalEmail": "system@google.com"},
     "methodName": "compute.instances.preempted", "resourceName": "projects/p/zones/europe-west4-a/instances/gpu-1"}},
  {"timestamp": "2026-10-03T08:00:00Z", "operation": {"last": true}, "protoPayload": {"status": {"code": 8, "message": "ZONE_RESOURCE_POOL_EXHAUSTED"},
     "authenticationInfo": {"principalEmail": "bob@example.org"}, "methodName": "beta.compute.instances.start",
     "resourceName": "projects/p/zones/europe-west4-a/instances/gpu-1"}},
  {"timestamp": "2026-10-04T08:00:00Z", "protoPayload": {"methodName": "v1.compute.disks.insert", "resourceName": "projects/p/zones/z/disks/d"}}])";

constexpr std::string_view kAzure = R"([
  {"caller": "ann@example.org", "eventTimestamp": "2026-10-01T08:00:00.1234567Z", "operationName": {"value": "Microsoft.Compute/virtualMachines/start/action"},
   "status": {"value": "Accepted"}, "resourceId": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/gpu-1"},
  {"caller": "ann@example.org", "eventTimestamp": "2026-10-01T08:00:30Z", "operationName": {"value": "Microsoft.Compute/virtualMachines/start/action"},
   "status": {"value": "Succeeded"}, "httpRequest": {"clientIpAddress": "192.0.2.1"},
   "resourceId": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/gpu-1"},
  {"time": "2026-10-02T08:00:00Z", "resourceId": "/SUBSCRIPTIONS/S/RESOURCEGROUPS/G/PROVIDERS/MICROSOFT.COMPUTE/VIRTUALMACHINES/GPU-1",
   "operationName": "MICROSOFT.COMPUTE/VIRTUALMACHINES/DEALLOCATE/ACTION", "resultType": "Success", "callerIpAddress": "192.0.2.2",
   "identity": {"claims": {"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/upn": "bob@example.org", "appid": "x"}}},
  {"caller": "eve@example.org", "eventTimestamp": "2026-10-03T08:00:00Z", "operationName": {"value": "Microsoft.Compute/virtualMachines/delete"},
   "status": {"value": "Failed"}, "subStatus": {"value": "Forbidden"},
   "resourceId": "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/gpu-1"}])";

std::string error_of_trail(TrailFormat format, std::string_view text) {
  TrailReader reader(format, "log.json", [](const MachineActRecord&) {});
  Status done = reader.feed(text);
  if (done.ok()) done = reader.finish();
  return done.ok() ? "" : done.error().message;
}

std::vector<MachineActRecord> acts(TrailFormat format, std::string_view text, size_t piece = 1 << 20) {
  std::vector<MachineActRecord> records;
  TrailReader reader(format, "log.json", [&](MachineActRecord record) { records.push_back(std::move(record)); });
  for (size_t at = 0; at < text.size(); at += piece)
    EXPECT_TRUE(reader.feed(text.substr(at, piece)).ok());
  const Status done = reader.finish();
  EXPECT_TRUE(done.ok()) << done.error().message;
  return records;
}

Instant day(int d) { return *parse_instant("2026-10-0" + std::to_string(d) + "T08:00:00Z"); }

TEST(Trails, CloudTrailSaysWhoMadeAndStartedAnInstance) {
  const auto got = acts(TrailFormat::kCloudTrail, kCloudTrail);
  ASSERT_THAT(got, SizeIs(5));
  EXPECT_EQ(got[0], (MachineActRecord{day(1), "i-0a", MachineAct::kMade, "mary", "192.0.2.7", "aws-cli/2.13.5", ""}));
  EXPECT_EQ(got[1].machine, "i-0b");
  EXPECT_EQ(got[2], (MachineActRecord{day(2), "i-0a", MachineAct::kStarted, "Trainers/ann", "192.0.2.8", "", ""}));
  EXPECT_EQ(got[3].who, "autoscaling.amazonaws.com");
  EXPECT_EQ(got[3].act, MachineAct::kEnded);
  EXPECT_EQ(got[4].who, "root of 777788889999");
  EXPECT_EQ(got[4].failed, "Client.InsufficientInstanceCapacity");
}

TEST(Trails, GoogleNamesWhoAskedOncePerOperation) {
  const auto got = acts(TrailFormat::kGcpAudit, kGcp);
  ASSERT_THAT(got, SizeIs(3));
  EXPECT_EQ(got[0], (MachineActRecord{day(1) + Duration::milliseconds(500), "gpu-1", MachineAct::kMade, "ann@example.org",
                                      "192.0.2.9", "Terraform/1.5", ""}));
  EXPECT_EQ(got[1].act, MachineAct::kStopped);
  EXPECT_EQ(got[1].who, "system@google.com");
  EXPECT_EQ(got[2].failed, "ZONE_RESOURCE_POOL_EXHAUSTED");
}

TEST(Trails, AzureIsReadAsTheCommandAndAsTheExportWriteIt) {
  const auto got = acts(TrailFormat::kAzureActivity, kAzure);
  ASSERT_THAT(got, SizeIs(3));
  EXPECT_EQ(got[0], (MachineActRecord{day(1) + Duration::seconds(30), "gpu-1", MachineAct::kStarted, "ann@example.org",
                                      "192.0.2.1", "", ""}));
  EXPECT_EQ(got[1], (MachineActRecord{day(2), "GPU-1", MachineAct::kStopped, "bob@example.org", "192.0.2.2", "", ""}));
  EXPECT_EQ(got[2].failed, "Forbidden");
}

TEST(Trails, AreReadCutAnywhereAndLineByLine) {
  for (const auto& [format, text] : {std::pair(TrailFormat::kCloudTrail, kCloudTrail),
                                     {TrailFormat::kGcpAudit, kGcp},
                                     {TrailFormat::kAzureActivity, kAzure}}) {
    const auto whole = acts(format, text);
    for (const size_t piece : {size_t{1}, size_t{7}, size_t{100}})
      EXPECT_EQ(acts(format, text, piece), whole);
    EXPECT_EQ(acts(format, std::string(text) + "\n" + std::string(text)).size(), 2 * whole.size()) << "one file after another";
  }
}

TEST(Trails, WhatIsNoneIsSaid) {
  EXPECT_THAT(error_of_trail(TrailFormat::kCloudTrail, "[{}]"), HasSubstr("no entry of AWS CloudTrail"));
  EXPECT_THAT(error_of_trail(TrailFormat::kGcpAudit, kCloudTrail), HasSubstr("gcloud logging read"));
  EXPECT_THAT(error_of_trail(TrailFormat::kAzureActivity, ""), HasSubstr("az monitor activity-log list"));
  EXPECT_THAT(error_of_trail(TrailFormat::kCloudTrail, R"({"Records": [{"eventS)"), HasSubstr("cut short"));
  EXPECT_THAT(error_of_trail(TrailFormat::kCloudTrail, "{\"Records\": [}]}"), HasSubstr("log.json: not JSON"));
  EXPECT_THAT(
      error_of_trail(TrailFormat::kCloudTrail,
                     R"({"Records": [{"eventSource": "ec2.amazonaws.com", "eventName": "StopInstances", "eventTime": "noon"}]})"),
      HasSubstr("log.json: entry 1: eventTime 'noon' is no time"));
  EXPECT_THAT(error_of_trail(TrailFormat::kCloudTrail, R"({"Records": []})"), IsEmpty()) << "an hour in which nothing was done";
}

TEST(Trails, FieldsOfOtherKindsAreNotSaid) {
  const auto got =
      acts(TrailFormat::kCloudTrail,
           R"([{"userIdentity": 7, "eventTime": "2026-10-01T08:00:00Z", "eventSource": "ec2.amazonaws.com", "eventName":
                        "StopInstances", "requestParameters": {"instancesSet": {"items": [{"instanceId": "i-1"}, 3, null]}}, "responseElements": []}])");
  ASSERT_THAT(got, SizeIs(1));
  EXPECT_EQ(got[0].who, "");
}

}  // namespace
}  // namespace stint
