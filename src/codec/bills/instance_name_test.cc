#include "codec/bills/instance_name.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(InstanceName, Aws) {
  EXPECT_EQ(find_instance_type("aws", "$1.624 per On Demand Linux g5.4xlarge Instance Hour"), "g5.4xlarge");
  EXPECT_EQ(find_instance_type("aws", "USE1-SpotUsage:p4d.24xlarge"), "p4d.24xlarge");
  EXPECT_EQ(find_instance_type("aws", "$0.19152 per On Demand Linux m7i-flex.xlarge Instance Hour"), "m7i-flex.xlarge");
  EXPECT_EQ(find_instance_type("aws", "p6-b200.48xlarge, per hour"), "p6-b200.48xlarge");
  EXPECT_EQ(find_instance_type("aws", "m5.metal-24xl"), "m5.metal-24xl");
  EXPECT_EQ(find_instance_type("aws", "runs on c5.large."), "c5.large");
  EXPECT_EQ(find_instance_type("aws", "ml.g5.xlarge for Training"), "ml.g5.xlarge");
}

TEST(InstanceName, AwsTextWithoutAnInstance) {
  for (const char* text : {"$0.090 per GB - first 10 TB / month data transfer out beyond the global free tier",
                           "USD 0.045 per db.r5.large hour", "$0.045 per NAT Gateway Hour", "cache.r6g.large node",
                           "ats.amazon.com large", "EBS:VolumeUsage.gp3", "xlarge", ".large", ""})
    EXPECT_EQ(find_instance_type("aws", text), "") << text;
}

TEST(InstanceName, Azure) {
  EXPECT_EQ(find_instance_type("azure", "Virtual Machines NCads A100 v4 Series - NC24ads A100 v4 - US East"),
            "Standard_NC24ads_A100_v4");
  EXPECT_EQ(find_instance_type("azure", "NC4as T4 v3 Spot"), "Standard_NC4as_T4_v3");
  EXPECT_EQ(find_instance_type("azure", "ND96isr H100 v5/ND96isr H100 v5 Low Priority"), "Standard_ND96isr_H100_v5");
  EXPECT_EQ(find_instance_type("azure", "Virtual Machines NCSv3 Series - NC6s v3 - EU West"), "Standard_NC6s_v3");
  EXPECT_EQ(find_instance_type("azure", "Standard_ND96asr_v4"), "Standard_ND96asr_v4");
  EXPECT_EQ(find_instance_type("azure", "D2s v5"), "Standard_D2s_v5");
}

TEST(InstanceName, AzureTextWithoutAnInstance) {
  for (const char* text :
       {"Premium SSD Managed Disks - P4 LRS - US East", "Premium Block Blob v2 Hierarchical Namespace - LRS",
        "Microsoft Defender for Containers - Standard vCore vCore Pack", "Tables - LRS Data Stored", "Standard_LRS"})
    EXPECT_EQ(find_instance_type("azure", text), "") << text;
}

TEST(InstanceName, GcpAndOracle) {
  EXPECT_EQ(find_instance_type("gcp", "{\"compute.googleapis.com/machine_spec\":\"a2-highgpu-1g\"}"), "a2-highgpu-1g");
  EXPECT_EQ(find_instance_type("gcp", "g2-standard-4"), "g2-standard-4");
  // Cores, memory and GPUs are billed apart: the size cannot be read off these.
  EXPECT_EQ(find_instance_type("gcp", "A2 Instance Core running in Americas"), "");
  EXPECT_EQ(find_instance_type("gcp", "Nvidia Tesla A100 GPU running in Iowa"), "");
  EXPECT_EQ(find_instance_type("oci", "Compute - BM.GPU.H100.8"), "BM.GPU.H100.8");
  EXPECT_EQ(find_instance_type("oci", "Standard - E3 - Memory"), "");
}

TEST(InstanceName, OtherProvidersOnlyWhenUnmistakable) {
  EXPECT_EQ(find_instance_type("", "p3.8xlarge"), "p3.8xlarge");
  EXPECT_EQ(find_instance_type("lambda", "gpu_8x_a100"), "");
  EXPECT_EQ(find_instance_type("", "D2s v5"), "");
}

}  // namespace
}  // namespace stint
