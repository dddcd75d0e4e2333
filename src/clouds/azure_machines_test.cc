#include "clouds/azure_machines.h"

#include <gmock/gmock.h>

#include "clouds/azure_machine.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string vm_with(std::string_view provisioning, std::string_view power) {
  return fmt::format(
      R"({{"name":"v","location":"eastus","tags":{{"a":"b"}},"properties":{{"vmId":"7","priority":"Spot","provisioningState":"{}",
          "instanceView":{{"statuses":[{{"code":"ProvisioningState/succeeded"}},{{"code":"{}"}}]}}}}}})",
      provisioning, power);
}

TEST(AzureMachines, StatesOfMachines) {
  const auto state = [](std::string_view provisioning, std::string_view power) {
    return parse_azure_vm(vm_with(provisioning, power))->state;
  };
  EXPECT_EQ(state("Succeeded", "PowerState/running"), AzureState::kRunning);
  EXPECT_EQ(state("Creating", "PowerState/starting"), AzureState::kComing);
  EXPECT_EQ(state("Succeeded", "PowerState/stopped"), AzureState::kStopped);
  EXPECT_EQ(state("Succeeded", "PowerState/deallocated"), AzureState::kStopped);
  EXPECT_EQ(state("Deleting", "PowerState/running"), AzureState::kGoing);
  EXPECT_EQ(state("Failed", ""), AzureState::kFailed);
  const auto page =
      parse_azure_vms(R"({"value":[)" + vm_with("Succeeded", "PowerState/running") + R"(],"nextLink":"https://x"})");
  ASSERT_THAT(page->machines, SizeIs(1));
  EXPECT_EQ(page->machines.front().id, "7");
  EXPECT_TRUE(page->machines.front().spot);
  EXPECT_EQ(page->machines.front().tags.at("a"), "b");
  EXPECT_EQ(page->next, "https://x");
  EXPECT_FALSE(parse_azure_vms("{}").ok());
  EXPECT_FALSE(parse_azure_vms(R"({"value":[{}]})").ok());
}

TEST(AzureMachines, CodesByWhatToDo) {
  const auto failure = [](int status, std::string_view code, std::string_view message = "m") {
    return parse_azure_api_error(status, fmt::format(R"({{"error":{{"code":"{}","message":"{}"}}}})", code, message)).failure;
  };
  EXPECT_EQ(failure(409, "AllocationFailed"), CloudFailure::kStockout);
  EXPECT_EQ(failure(409, "SkuNotAvailable"), CloudFailure::kStockout);
  EXPECT_EQ(failure(409, "OperationNotAllowed", "exceeding approved Total Regional Cores quota"), CloudFailure::kQuota);
  EXPECT_EQ(failure(409, "OperationNotAllowed", "deallocate it first"), CloudFailure::kRequest);
  EXPECT_EQ(failure(429, "TooManyRequests"), CloudFailure::kThrottled);
  EXPECT_EQ(failure(403, "AuthorizationFailed"), CloudFailure::kForbidden);
  EXPECT_EQ(failure(401, "ExpiredAuthenticationToken"), CloudFailure::kCredential);
  EXPECT_EQ(failure(404, "ResourceNotFound"), CloudFailure::kNotFound);
  EXPECT_EQ(parse_azure_api_error(503, "<html>").failure, CloudFailure::kServer);
}

TEST(AzureMachines, AnOperationSaysWhyItFailed) {
  const auto failed = parse_azure_operation(R"({"status":"Failed","error":{"code":"ZonalAllocationFailed","message":"none"}})");
  EXPECT_TRUE(failed->done);
  EXPECT_EQ(failed->fault->failure, CloudFailure::kStockout);
  EXPECT_FALSE(parse_azure_operation(R"({"status":"InProgress"})")->done);
  EXPECT_FALSE(parse_azure_operation("{}").ok());
}

TEST(AzureMachine, WhatBelongsToItGoesWithIt) {
  AzureMachine machine{.name = "v",
                       .location = "eastus",
                       .zone = "1",
                       .size = "Standard_ND96asr_v4",
                       .image = "Canonical:ubuntu-24_04-lts:server:latest",
                       .subnet = "/subscriptions/s",
                       .user = "stint",
                       .ssh_key = "ssh-rsa A",
                       .spot = true};
  const std::string body = azure_machine_body(machine);
  EXPECT_THAT(body, HasSubstr(R"("osDisk":{"createOption":"FromImage","deleteOption":"Delete")"));
  EXPECT_THAT(body, HasSubstr(R"("properties":{"primary":true,"deleteOption":"Delete")"));
  EXPECT_THAT(body, HasSubstr(R"("priority":"Spot","evictionPolicy":"Delete","billingProfile":{"maxPrice":-1.0})"));
  EXPECT_THAT(body, HasSubstr(R"("zones":["1"])"));
  EXPECT_THAT(body, HasSubstr(R"("offer":"ubuntu-24_04-lts")"));
  machine.spot = false;
  EXPECT_THAT(azure_machine_body(machine), Not(HasSubstr("evictionPolicy")));
  EXPECT_TRUE(is_azure_image("/subscriptions/s/images/i"));
  EXPECT_FALSE(is_azure_image("ami-1"));
}

}  // namespace
}  // namespace stint
