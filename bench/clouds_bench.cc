// How long does it take to read what a cloud answers when 10,000 machines are listed? The pages lie in memory.
//   build/release/bench/clouds_bench
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "clouds/azure_machines.h"
#include "clouds/ec2_answers.h"
#include "clouds/gce_answers.h"

namespace stint {
namespace {

constexpr int kMachines = 10'000;

/// Pages of so many machines, each as the cloud writes it.
std::vector<std::string> pages_of(int page, const std::string& before, const std::string& between, const std::string& after,
                                  const std::function<std::string(int)>& machine) {
  std::vector<std::string> pages;
  for (int at = 0; at < kMachines; at += page) {
    std::string text = before;
    for (int i = at; i < at + page; ++i)
      text += (i == at ? "" : between) + machine(i);
    pages.push_back(text + after);
  }
  return pages;
}

/// With the view of the instance, and without its user data: as "Virtual Machines - List" answers.
std::string azure_machine(int i) {
  return fmt::format(
      R"({{"name":"burst-{0}-0123456789abcdef","id":"/subscriptions/7c1e0f52-0000-4000-8000-000000000000/resourceGroups/gpu/providers/)"
      R"(Microsoft.Compute/virtualMachines/burst-{0}-0123456789abcdef","type":"Microsoft.Compute/virtualMachines","location":"eastus",)"
      R"("tags":{{"stint-fleet":"stint-0123456789abcdef","stint-machine":"burst-{0}","team":"research"}},"zones":["1"],"identity":{{)"
      R"("type":"UserAssigned","userAssignedIdentities":{{"/subscriptions/s/resourceGroups/gpu/providers/Microsoft.ManagedIdentity/)"
      R"(userAssignedIdentities/gpu":{{"principalId":"11111111-2222-3333-4444-555555555555","clientId":"66666666-7777"}}}}}},)"
      R"("properties":{{"vmId":"11111111-2222-3333-4444-{0:012}","provisioningState":"Succeeded","priority":"Spot",)"
      R"("evictionPolicy":"Delete","billingProfile":{{"maxPrice":-1.0}},"hardwareProfile":{{"vmSize":"Standard_ND96isr_H100_v5"}},)"
      R"("storageProfile":{{"imageReference":{{"publisher":"Canonical","offer":"ubuntu-24_04-lts","sku":"server","version":"latest",)"
      R"("exactVersion":"24.04.202610010"}},"osDisk":{{"osType":"Linux","name":"burst-{0}_OsDisk_1","createOption":"FromImage",)"
      R"("caching":"ReadWrite","managedDisk":{{"storageAccountType":"Premium_LRS","id":"/subscriptions/s/resourceGroups/gpu/providers/)"
      R"(Microsoft.Compute/disks/burst-{0}_OsDisk_1"}},"deleteOption":"Delete","diskSizeGB":100}},"dataDisks":[]}},"osProfile":{{)"
      R"("computerName":"burst-{0}","adminUsername":"stint","linuxConfiguration":{{"disablePasswordAuthentication":true,"ssh":{{)"
      R"("publicKeys":[{{"path":"/var/lib/stint/keys","keyData":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ000000000000"}}]}},)"
      R"("provisionVMAgent":true,"patchSettings":{{"patchMode":"ImageDefault","assessmentMode":"ImageDefault"}}}},"secrets":[],)"
      R"("allowExtensionOperations":true}},"networkProfile":{{"networkInterfaces":[{{"id":"/subscriptions/s/resourceGroups/gpu/providers/)"
      R"(Microsoft.Network/networkInterfaces/burst-{0}","properties":{{"primary":true,"deleteOption":"Delete"}}}}]}},"instanceView":{{)"
      R"("vmAgent":{{"vmAgentVersion":"2.9","statuses":[{{"code":"ProvisioningState/succeeded","level":"Info","displayStatus":"Ready",)"
      R"("message":"Guest Agent is running","time":"2026-11-27T20:00:00+00:00"}}]}},"disks":[{{"name":"burst-{0}_OsDisk_1","statuses":[{{)"
      R"("code":"ProvisioningState/succeeded","level":"Info","displayStatus":"Provisioning succeeded"}}]}}],"statuses":[{{)"
      R"("code":"ProvisioningState/succeeded","level":"Info","displayStatus":"Provisioning succeeded"}},{{)"
      R"("code":"PowerState/running","level":"Info","displayStatus":"VM running"}}]}},"timeCreated":"2026-11-27T19:00:00+00:00"}}}})",
      i);
}

std::string gce_machine(int i) {
  return fmt::format(
      R"({{"id":"{0:019}","name":"burst-{0}-0123456789abcdef","zone":"https://www.googleapis.com/compute/v1/projects/p/zones/us-central1-a",)"
      R"("status":"RUNNING","labels":{{"stint-fleet":"stint-0123456789abcdef","stint-machine":"burst-{0}"}},)"
      R"("scheduling":{{"provisioningModel":"SPOT"}}}})",
      i);
}

std::string ec2_machine(int i) {
  return fmt::format(
      "<item><reservationId>r-{0:017x}</reservationId><ownerId>123456789012</ownerId><groupSet/><instancesSet><item>"
      "<instanceId>i-{0:017x}</instanceId><imageId>ami-0123456789abcdef0</imageId><instanceState><code>16</code><name>running</"
      "name>"
      "</instanceState><privateDnsName>ip-10-0-0-1.ec2.internal</privateDnsName><instanceType>p5.48xlarge</instanceType>"
      "<launchTime>2026-11-27T19:00:00.000Z</launchTime><placement><availabilityZone>us-east-1a</availabilityZone><groupName/>"
      "<tenancy>default</tenancy></placement><monitoring><state>disabled</state></monitoring><subnetId>subnet-1</subnetId>"
      "<vpcId>vpc-1</vpcId><privateIpAddress>10.0.0.1</privateIpAddress><sourceDestCheck>true</sourceDestCheck><groupSet><item>"
      "<groupId>sg-1</groupId><groupName>gpu</groupName></item></groupSet><architecture>x86_64</architecture>"
      "<rootDeviceType>ebs</rootDeviceType><blockDeviceMapping><item><deviceName>/dev/xvda</deviceName><ebs><volumeId>vol-1</"
      "volumeId>"
      "<status>attached</status></ebs></item></blockDeviceMapping><instanceLifecycle>spot</instanceLifecycle><tagSet><item>"
      "<key>stint:fleet</key><value>stint-0123456789abcdef</value></item><item><key>stint:machine</key><value>burst-{0}</value></"
      "item>"
      "<item><key>Name</key><value>burst-{0}</value></item></tagSet><cpuOptions><coreCount>96</coreCount><threadsPerCore>2</"
      "threadsPerCore>"
      "</cpuOptions></item></instancesSet></item>",
      i);
}

/// @param read  one page. @return machines on it
void read_pages(benchmark::State& state, const std::vector<std::string>& pages,
                const std::function<size_t(const std::string&)>& read) {
  size_t bytes = 0, machines = 0;
  for (auto _ : state) {
    bytes = machines = 0;
    for (const std::string& page : pages) {
      machines += read(page);
      bytes += page.size();
    }
    if (machines != kMachines) return state.SkipWithError("machines are missing");
  }
  state.counters["mib"] = static_cast<double>(bytes) / (1 << 20);
}

void azure_list(benchmark::State& state) {
  read_pages(state, pages_of(500, R"({"value":[)", ",", "]}", azure_machine),
             [](const std::string& page) { return parse_azure_vms(page)->machines.size(); });
}
BENCHMARK(azure_list)->Unit(benchmark::kMillisecond);

void gce_list(benchmark::State& state) {
  read_pages(state, pages_of(500, R"({"items":{"zones/us-central1-a":{"instances":[)", ",", "]}}}", gce_machine),
             [](const std::string& page) { return parse_gce_instances(page)->instances.size(); });
}
BENCHMARK(gce_list)->Unit(benchmark::kMillisecond);

void ec2_list(benchmark::State& state) {
  read_pages(state,
             pages_of(1'000, "<DescribeInstancesResponse><reservationSet>", "", "</reservationSet></DescribeInstancesResponse>",
                      ec2_machine),
             [](const std::string& page) { return parse_ec2_instances(page)->instances.size(); });
}
BENCHMARK(ec2_list)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stint
