#include "clouds/gce_answers.h"

#include <gmock/gmock.h>

#include "clouds/cloud_api.h"
#include "clouds/gce_machine.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(GceAnswers, MachinesOfAllZonesAndWhatIsMissing) {
  const auto page = parse_gce_instances(
      R"({"items":{"zones/us-central1-a":{"instances":[{"id":"7","name":"n","zone":"https://x/zones/us-central1-a","status":"RUNNING",
          "labels":{"stint-machine":"burst_5f1"},"scheduling":{"provisioningModel":"SPOT"}}]},
          "zones/us-central1-b":{"warning":{"code":"NO_RESULTS_ON_PAGE"}}},"unreachables":["zones/europe-west1-b"],"nextPageToken":"p"})");
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_THAT(page->instances, SizeIs(1));
  const GceInstance& machine = page->instances.front();
  EXPECT_EQ(machine.id, "7");
  EXPECT_EQ(machine.zone, "us-central1-a");
  EXPECT_EQ(machine.state, GceState::kRunning);
  EXPECT_TRUE(machine.spot);
  EXPECT_EQ(text_of_gce_label(machine.labels.at("stint-machine")), "burst_1");
  EXPECT_EQ(page->next, "p");
  EXPECT_FALSE(page->complete);
  EXPECT_FALSE(parse_gce_instances("<html>").ok());
  EXPECT_FALSE(parse_gce_instances(R"({"items":{"zones/a":{"instances":[{"id":"7"}]}}})").ok());
}

TEST(GceAnswers, AnOperationSaysWhyItFailed) {
  const auto failed = parse_gce_operation(
      R"({"name":"o","status":"DONE","error":{"errors":[{"code":"ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS","message":"none"}]}})");
  ASSERT_TRUE(failed.ok());
  EXPECT_TRUE(failed->done);
  ASSERT_TRUE(failed->fault);
  EXPECT_EQ(failed->fault->failure, CloudFailure::kStockout);
  EXPECT_FALSE(parse_gce_operation(R"({"name":"o","status":"RUNNING"})")->done);
  EXPECT_FALSE(parse_gce_operation("{}").ok());
}

TEST(GceAnswers, CodesByWhatToDo) {
  EXPECT_EQ(classify_gce_operation("QUOTA_EXCEEDED"), CloudFailure::kQuota);
  EXPECT_EQ(classify_gce_operation("VM_MIN_COUNT_NOT_REACHED"), CloudFailure::kStockout);
  EXPECT_EQ(classify_gce_operation("INTERNAL_ERROR"), CloudFailure::kServer);
  EXPECT_EQ(classify_gce_operation("INVALID_FIELD"), CloudFailure::kRequest);
  const auto error = [](int status, std::string_view reason) {
    return parse_gce_error(status,
                           fmt::format(R"({{"error":{{"code":{},"message":"m","errors":[{{"reason":"{}"}}]}}}})", status, reason))
        .failure;
  };
  EXPECT_EQ(error(403, "quotaExceeded"), CloudFailure::kQuota);
  EXPECT_EQ(error(403, "rateLimitExceeded"), CloudFailure::kThrottled);
  EXPECT_EQ(error(403, "forbidden"), CloudFailure::kForbidden);
  EXPECT_EQ(error(409, "alreadyExists"), CloudFailure::kConflict);
  EXPECT_EQ(error(404, "notFound"), CloudFailure::kNotFound);
  EXPECT_EQ(parse_gce_error(502, "<html>").failure, CloudFailure::kServer);
}

TEST(GceAnswers, QuotasOfGpus) {
  EXPECT_EQ(gce_gpu_quota("H100-80GB", true), "PREEMPTIBLE_NVIDIA_H100_GPUS");
  EXPECT_EQ(gce_gpu_quota("A100-80GB", false), "NVIDIA_A100_80GB_GPUS");
  EXPECT_EQ(gce_gpu_quota("H100-80GB", false), "");
  EXPECT_EQ(gce_gpu_quota("MI300X", false), "");
  const auto quotas = parse_gce_quotas(R"({"quotas":[{"metric":"NVIDIA_L4_GPUS","limit":16.0,"usage":4}]})");
  ASSERT_THAT(*quotas, SizeIs(1));
  EXPECT_EQ(quotas->front().limit - quotas->front().usage, 12);
}

TEST(GceMachine, GoogleEndsItAndDeletesWhatItTakesBack) {
  GceMachine machine{
      .name = "n", .zone = "us-central1-a", .machine_type = "a3-highgpu-8g", .image = "projects/p/global/images/i"};
  machine.spot = true;
  machine.ends_after = kHour;
  const std::string body = gce_insert_body(machine);
  EXPECT_THAT(body, HasSubstr(R"("provisioningModel":"SPOT")"));
  EXPECT_THAT(body, HasSubstr(R"("instanceTerminationAction":"DELETE")"));
  EXPECT_THAT(body, HasSubstr(R"("maxRunDuration":{"seconds":"3600"})"));
  EXPECT_THAT(body, HasSubstr(R"("autoDelete":true)"));
  EXPECT_EQ(body, gce_insert_body(machine));
  machine.spot = false;
  machine.ends_after.reset();
  EXPECT_THAT(gce_insert_body(machine), Not(HasSubstr("instanceTerminationAction")));
}

TEST(GceMachine, LabelsSayAnyName) {
  for (const char* name : {"burst-1", "A.b_c", "\xc3\xa9t\xc3\xa9", "_", "_41"}) {
    const std::string label = gce_label_of(name);
    EXPECT_EQ(text_of_gce_label(label), name);
    EXPECT_THAT(label, ::testing::MatchesRegex("[a-z0-9_-]*"));
  }
  EXPECT_EQ(text_of_gce_label("not_ours"), "not_ours");
}

TEST(CloudNames, AreOfOneOwnersMachineAndFitEverywhere) {
  const std::string name = cloud_machine_name("stint-1", "Burst_1/x");
  EXPECT_THAT(name, ::testing::StartsWith("burst-1-x-"));
  EXPECT_NE(name, cloud_machine_name("stint-2", "Burst_1/x"));
  EXPECT_NE(name, cloud_machine_name("stint-1", "Burst-1-x"));
  EXPECT_LE(cloud_machine_name("o", std::string(200, 'a')).size(), 54U);
  EXPECT_THAT(cloud_machine_name("o", "7\xc3\xa9"), ::testing::MatchesRegex("m7-[0-9a-f]+"));
  EXPECT_THAT(gce_request_id("o", "m", "create"), ::testing::MatchesRegex("[0-9a-f]+-[0-9a-f]+-5[0-9a-f]+-8[0-9a-f]+-[0-9a-f]+"));
  EXPECT_NE(gce_request_id("o", "m", "create"), gce_request_id("o", "m", "end"));
}

TEST(CloudNames, AnAddressThatIsNone) {
  EXPECT_EQ(*api_address("V", "", "https://a.example/x/"), "https://a.example/x");
  EXPECT_THAT(api_address("V", "http://a.example", "https://b").error().message, HasSubstr("V 'http://a.example'"));
}

}  // namespace
}  // namespace stint
