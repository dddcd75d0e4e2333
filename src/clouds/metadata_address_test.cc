#include "clouds/metadata_address.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "host/scratch_dir.h"

namespace stint {
namespace {

Environment variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
}

TEST(MetadataAddress, IsLinkLocalUnlessMovedToThisMachine) {
  EXPECT_EQ(metadata_address(CloudProvider::kAws, variables({})).value(), "http://169.254.169.254");
  EXPECT_EQ(metadata_address(CloudProvider::kAzure, variables({{"STINT_METADATA_ADDRESS", "http://127.0.0.1:8080/"}})).value(),
            "http://127.0.0.1:8080");
  EXPECT_EQ(
      metadata_address(CloudProvider::kAws, variables({{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://[fd00:ec2::254]"}})).value(),
      "http://[fd00:ec2::254]");
  EXPECT_EQ(metadata_address(CloudProvider::kGoogle, variables({{"GCE_METADATA_HOST", "localhost:9"}})).value(),
            "http://localhost:9");
}

TEST(MetadataAddress, NoOtherMachineIsAsked) {
  for (const char* url : {"http://10.0.0.1", "https://127.0.0.1", "http://127.0.0.1.evil.example",
                          "http://127.0.0.1:80@evil.example", "http://evil.example/169.254.169.254", "http://127.0.0.1/path",
                          "http://127.0.0.1:0", "http://127.0.0.1:99999", "http://[::1", "http://[::1]x", "127.0.0.1", "http://"})
    EXPECT_FALSE(is_metadata_address(url)) << url;
  for (const char* url : {"http://127.0.0.1:8080", "http://localhost", "http://[::1]:5", "http://METADATA.google.internal"})
    EXPECT_TRUE(is_metadata_address(url)) << url;
  const auto refused = metadata_address(CloudProvider::kAws, variables({{"STINT_METADATA_ADDRESS", "http://10.0.0.1"}}));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message.substr(0, 42), "STINT_METADATA_ADDRESS: 'http://10.0.0.1' ");
}

TEST(MetadataAddress, TheFirmwareSaysWhichCloudItIs) {
  const auto cloud = [](const char* file, const char* text) {
    const ScratchDir dir;
    std::ofstream(dir / file) << text << "\n";
    return detect_cloud(dir / "");
  };
  EXPECT_EQ(cloud("sys_vendor", "Amazon EC2"), CloudProvider::kAws);
  EXPECT_EQ(cloud("product_name", "Google Compute Engine"), CloudProvider::kGoogle);
  EXPECT_EQ(cloud("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"), CloudProvider::kAzure);
  EXPECT_EQ(cloud("sys_vendor", "Microsoft Corporation"), std::nullopt) << "any Hyper-V";
  EXPECT_EQ(detect_cloud("/nowhere"), std::nullopt);
}

}  // namespace
}  // namespace stint
